// This file decodes TOML files, and finds the lines of their keys for diagnostics.

package schema

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// Layer is one of the files of an input: the file itself, or a file it is based on.
type Layer struct {
	File  string
	lines lineIndex // lines of keys and tables, keyed by path
}

// Line returns the line of the key or table at path, or 0 if the file does not contain
// it.
func (l Layer) Line(path string) int { return l.lines[path] }

// Rename adds the lines of keys under other paths. current returns the path of a key.
func (l Layer) Rename(current func(path string) string) {
	for path, line := range maps.Clone(l.lines) {
		if _, ok := l.lines[current(path)]; !ok {
			l.lines[current(path)] = line
		}
	}
}

// FindLine returns the location of the key at path. If no layer contains the key, it
// returns the table that would contain it, or else the first line of the first layer.
func FindLine(layers []Layer, path string) (file string, line int) {
	for _, l := range layers {
		if n, ok := l.lines[path]; ok {
			return l.File, n
		}
	}
	for path != "" {
		path, _ = CutLast(path)
		if n, ok := layers[0].lines[path]; ok {
			return layers[0].File, n
		}
	}
	return layers[0].File, 1
}

// Decode decodes a TOML file without interpreting its keys.
func Decode(name string, data []byte) (map[string]any, Layer, Diagnostics) {
	if len(data) > MaxFileBytes {
		return nil, Layer{}, Diagnostics{{
			File: name, Problem: fmt.Sprintf("is larger than %d MiB", MaxFileBytes>>20), Remedy: "scenarios are short texts",
		}}
	}
	// Check the limits before the library decodes the file.
	found, excess, at := scanLines(data)
	if excess != "" {
		return nil, Layer{}, Diagnostics{{File: name, Line: at, Problem: "has " + excess, Remedy: "scenarios are short and shallow"}}
	}
	root := map[string]any{}
	if _, err := toml.Decode(string(data), &root); err != nil {
		return nil, Layer{}, Diagnostics{tomlDiagnostic(name, data, err)}
	}
	return root, Layer{File: name, lines: found}, nil
}

// DecodeValue decodes a text as a TOML value. If that fails, the text itself is the
// value.
func DecodeValue(text string) any {
	doc := "v = " + text
	if _, excess, _ := scanLines([]byte(doc)); excess != "" || len(doc) > MaxFileBytes {
		return text
	}
	var m map[string]any
	if _, err := toml.Decode(doc, &m); err != nil || len(m) != 1 {
		return text
	}
	return m["v"]
}

// tomlDiagnostic converts an error of the TOML library into a diagnostic.
func tomlDiagnostic(name string, data []byte, err error) Diagnostic {
	message, key := err.Error(), ""
	line := 0
	var p toml.ParseError
	if errors.As(err, &p) {
		message, key = p.Message, p.LastKey
		// The library attributes an error at a line end to the next line.
		line = 1 + bytes.Count(data[:min(len(data), max(0, p.Position.Start))], []byte("\n"))
	}

	// A file that is no scenario by its name may be secret, so its content is not printed.
	if filepath.Ext(name) != ".toml" {
		return Diagnostic{File: name, Line: line, Problem: "is no TOML", Remedy: "see https://toml.io"}
	}
	// Integers out of range are errors of a value, not of the syntax.
	if number, ok := strings.CutSuffix(strings.TrimSuffix(message, "."), " is out of range for int64"); ok {
		return Diagnostic{
			File: name, Line: line, Key: key, Problem: Clip(oneLine(number), maxQuotedBytes) + " is out of bounds",
			Remedy: fmt.Sprintf("write a whole number from %d to %d", math.MinInt64, math.MaxInt64),
		}
	}
	// Values without quotes are the most frequent error.
	lines := bytes.Split(data, []byte("\n"))
	if line > 0 && line <= len(lines) {
		isInList := strings.Contains(message, "expected value") || strings.Contains(message, "array")
		if w := unquotedValue(string(lines[line-1]), isInList); w != nil {
			return Diagnostic{File: name, Line: line, Problem: "broken TOML: " + w.Problem, Remedy: w.Remedy}
		}
	}
	return Diagnostic{File: name, Line: line, Problem: "broken TOML: " + strings.TrimSuffix(oneLine(message), "."), Remedy: "see https://toml.io"}
}

// oneLine returns text with control characters escaped.
func oneLine(text string) string {
	q := strconv.Quote(strings.TrimSpace(text))
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(q[1 : len(q)-1])
}
