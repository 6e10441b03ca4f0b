"""What is known of storages for as long as they live."""
import weakref


class LiveMap:
    """Values by storage.  A storage's object lives as long as its memory, so its id is its own
    until it dies, and then the entry is gone.  Holds no storage alive."""

    def __init__(self):
        self.entries = {}

    def get(self, storage):
        """The value of a storage, or None."""
        found = self.entries.get(id(storage))
        return None if found is None else found[1]

    def put(self, storage, value):
        """Sets the value of a storage."""
        address, entries = id(storage), self.entries
        found = entries.get(address)
        if found is not None:
            entries[address] = (found[0], value)
        else:
            entries[address] = (weakref.ref(storage, lambda _: entries.pop(address, None)), value)

    def pop(self, storage):
        """Forgets the value of a storage and returns it, or None."""
        found = self.entries.pop(id(storage), None)
        return None if found is None else found[1]

    def clear(self):
        self.entries.clear()
