package schema

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// Layer is a file that an input is made of: its own, or one that it is based on.
type Layer struct {
	File  string
	lines lineIndex
}

// Line returns the line of the key or table at path, 0 where the file has none.
func (l Layer) Line(path string) int { return l.lines[path] }

// FindLine returns where the key at path stands, or else the table where it would; without either the first line of the
// first layer.
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

// Decode reads a file's text without looking at what its keys mean.
func Decode(name string, data []byte) (map[string]any, Layer, Diagnostics) {
	if len(data) > MaxFileBytes {
		return nil, Layer{}, Diagnostics{{
			File: name, Problem: fmt.Sprintf("is larger than %d MiB", MaxFileBytes>>20), Remedy: "scenarios are short texts",
		}}
	}
	found, excess, at := scanLines(data)
	if excess != "" {
		return nil, Layer{}, Diagnostics{{File: name, Line: at, Problem: "has " + excess, Remedy: "scenarios are short and shallow"}}
	}
	root := map[string]any{}
	if _, err := toml.Decode(string(data), &root); err != nil {
		return nil, Layer{}, Diagnostics{tomlDiagnostic(name, data, err)}
	}
	return root, Layer{name, found}, nil
}

// DecodeValue reads a text as a TOML value, or else as plain text.
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

// tomlDiagnostic turns an error of the TOML library into a diagnostic.
func tomlDiagnostic(name string, data []byte, err error) Diagnostic {
	message, key := err.Error(), ""
	line := 0
	var p toml.ParseError
	if errors.As(err, &p) {
		message, key = p.Message, p.LastKey
		// The library counts a line end that it stumbles over as the next line.
		line = 1 + bytes.Count(data[:min(len(data), max(0, p.Position.Start))], []byte("\n"))
	}
	if filepath.Ext(name) != ".toml" { // no scenario by its name: nothing of it is quoted
		return Diagnostic{File: name, Line: line, Problem: "is no TOML", Remedy: "see https://toml.io"}
	}
	if number, ok := strings.CutSuffix(strings.TrimSuffix(message, "."), " is out of range for int64"); ok {
		return Diagnostic{
			File: name, Line: line, Key: key, Problem: Clip(oneLine(number), 60) + " is out of bounds",
			Remedy: fmt.Sprintf("write a whole number from %d to %d", math.MinInt64, math.MaxInt64),
		}
	}
	return Diagnostic{File: name, Line: line, Problem: "broken TOML: " + strings.TrimSuffix(oneLine(message), "."), Remedy: "see https://toml.io"}
}

func oneLine(text string) string {
	q := strconv.Quote(strings.TrimSpace(text))
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(q[1 : len(q)-1])
}
