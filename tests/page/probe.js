// Runs in the page under test once it is whole, and tells the page around it what it found.
addEventListener("load", function () {
    setTimeout(probe, 100); // what the browser refuses, it tells later
});

function probe() {
    function rgb(text) {
        const parts = text.match(/[\d.]+/g);
        return parts ? parts.map(Number) : [0, 0, 0, 0];
    }

    function luminance(colour) {
        const [r, g, b] = colour.slice(0, 3).map(function (value) {
            const share = value / 255;
            return share <= 0.04045 ? share / 12.92 : Math.pow((share + 0.055) / 1.055, 2.4);
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    }

    function background(element) {
        for (; element; element = element.parentElement) {
            const colour = rgb(getComputedStyle(element).backgroundColor);
            if (colour.length < 4 || colour[3] > 0.99)
                return colour;
        }
        return [255, 255, 255];
    }

    function contrast(element) {
        const style = getComputedStyle(element);
        const inside = element.closest("svg");
        const one = luminance(rgb(inside ? style.fill : style.color));
        const other = luminance(background(inside ? inside.parentElement : element));
        return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    }

    // Elements that have text of their own and can be seen.
    function texts() {
        return Array.from(document.body.querySelectorAll("*")).filter(function (element) {
            return !element.closest("title, script") && element.getClientRects().length &&
                Array.from(element.childNodes).some(function (node) {
                    return node.nodeType === 3 && node.textContent.trim();
                });
        });
    }

    function words(element) {
        return element.textContent.trim().slice(0, 60);
    }

    function cutOff(text) {
        const box = text.getBoundingClientRect();
        const whole = text.closest("svg").getBoundingClientRect();
        return box.left < whole.left - 2 || box.right > whole.right + 2 ||
            box.top < whole.top - 2 || box.bottom > whole.bottom + 2;
    }

    function overlaps(svg) {
        const boxes = Array.from(svg.querySelectorAll("text")).map(function (text) {
            return [text, text.getBoundingClientRect()];
        });
        const found = [];
        boxes.forEach(function ([one, a], i) {
            boxes.slice(i + 1).forEach(function ([other, b]) {
                if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 &&
                    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4)
                    found.push(words(one) + " | " + words(other));
            });
        });
        return found;
    }

    const drawn = Array.from(document.querySelectorAll(".panels svg")).filter(function (svg) {
        return svg.getClientRects().length;
    });
    document.querySelectorAll("details").forEach(function (details) { details.open = true; });
    const found = {
        errors: window.probeErrors,
        width: window.innerWidth,
        content: document.documentElement.scrollWidth,
        requests: performance.getEntriesByType("resource").map(function (e) { return e.name; })
            .filter(function (name) { return !name.startsWith("data:"); }),
        faint: texts().filter(function (e) { return contrast(e) < 4.5; }).map(words),
        texts: texts().length,
        panels: drawn.length,
        flat: drawn.filter(function (svg) { return svg.getBoundingClientRect().height < 60; })
            .length,
        small: drawn.filter(function (svg) {
            return svg.getBoundingClientRect().width / svg.viewBox.baseVal.width < 0.78;
        }).map(words),
        cut: drawn.flatMap(function (svg) {
            return Array.from(svg.querySelectorAll("text")).filter(cutOff).map(words);
        }),
        overlaps: drawn.flatMap(overlaps),
        dark: matchMedia("(prefers-color-scheme: dark)").matches,
    };
    document.querySelectorAll("details").forEach(function (details) { details.open = false; });
    found.height = Math.ceil(document.documentElement.scrollHeight);
    parent.postMessage(JSON.stringify(found), "*");
}
