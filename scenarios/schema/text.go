// This file formats names for messages, and joins and splits dotted paths of keys.

package schema

import (
	"strconv"
	"strings"

	"sim/internal/text"
)

// OneOf returns a hint with the accepted names, or the most similar one.
func OneOf(name string, allowed []string) string {
	if n := text.Nearest(name, allowed); n != "" {
		return "did you mean " + Quote(n) + "?"
	}
	return "choose " + QuotedList(allowed)
}

// QuotedList formats names as `"a", "b" or "c"`.
func QuotedList(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = Quote(n)
	}
	if len(quoted) < 2 {
		return strings.Join(quoted, "")
	}
	last := len(quoted) - 1
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}

// maxQuotedBytes is the length to which texts of a file are shortened in messages.
const maxQuotedBytes = 60

// Quote quotes a text for a one-line message, shortened if it is long.
func Quote(text string) string { return strconv.Quote(Clip(text, maxQuotedBytes)) }

// JoinPath appends a part to a dotted path. The part is quoted if it is not a bare key.
func JoinPath(path, part string) string {
	if part == "" || strings.ContainsFunc(part, func(r rune) bool { return !IsBare(r) }) {
		part = strconv.Quote(part)
	}
	if path == "" {
		return part
	}
	return path + "." + part
}

// IsBare reports whether r may be part of an unquoted key.
func IsBare(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-'
}

// CutLast splits a path before its last part.
func CutLast(path string) (parent, last string) {
	i := strings.LastIndexByte(path, '.')
	return path[:max(0, i)], path[i+1:]
}

// CutFirst splits a path after its first part and removes the quotes of that part.
func CutFirst(path string) (first, rest string) {
	if quoted, err := strconv.QuotedPrefix(path); err == nil {
		first, _ = strconv.Unquote(quoted)
		return first, strings.TrimPrefix(path[len(quoted):], ".")
	}
	first, rest, _ = strings.Cut(path, ".")
	return first, rest
}
