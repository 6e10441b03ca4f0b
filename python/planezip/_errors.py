"""What goes wrong with data."""


class PlaneZipError(Exception):
    """Data that cannot be coded or decoded, or a file that is none.

    status: the name of the library's status, as "PZ_ERR_CHECK".
    where: the place, as "tensor 'w', segment 3, chunk 7, block 2, bit 40"; "" if there is none.
    text: what is wrong, a sentence without a full stop.

    Wrong arguments are a TypeError or a ValueError, failures of files an OSError, and lack of
    memory is a MemoryError, as everywhere in Python.
    """

    def __init__(self, status, where, text):
        super().__init__(status, where, text)
        self.status = status
        self.where = where
        self.text = text

    def __str__(self):
        place = f" ({self.where})" if self.where else ""
        return f"{self.text}{place} [{self.status}]"
