// This file writes tables as TOML files, and describes their keys for the reference
// and the terminal.

package schema

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"sim/engine"
	"sim/engine/units"
	"sim/internal/text"
)

// Write writes the used tables with all used keys in the order of the fields, including
// defaults. Only keys with the tag "implicit" are left out if they have their default.
// Reading the text gives the same values.
func (s *Schema) Write(b *bytes.Buffer) {
	for _, t := range s.Tables {
		if t.When.Applies() && !t.IsOmitted() {
			t.Write(b, t.Path)
		}
	}
}

// Write writes a table, or all elements of an array of tables, under a path. If names are
// given, only these keys are written.
func (t *Table) Write(b *bytes.Buffer, path string, names ...string) {
	for i := range t.elements() {
		t.WriteElement(b, i, path, names...)
	}
}

// WriteElement writes element i of an array of tables, or a table.
func (t *Table) WriteElement(b *bytes.Buffer, i int, path string, names ...string) {
	if path != "" {
		header := "[" + path + "]"
		if t.IsArray() {
			header = "[" + header + "]"
		}
		fmt.Fprintf(b, "\n%s\n", header)
	}
	for _, k := range t.Keys {
		if k.hasField && !k.isSource && !k.isOmitted(i) && k.UseCondition().Applies() && (len(names) == 0 || slices.Contains(names, k.Name)) {
			fmt.Fprintf(b, "%s = %s\n", k.Name, Literal(k.Field(i).Interface()))
		}
	}
}

// isOmitted reports whether the key has a default in element i that is not written back.
// Such keys were added later; files, results and cells written before must not change.
//
// A computed default of 0 is unknown if the key must be above 0. Nothing uses the key
// then, and it is not written back either.
func (k *Key) isOmitted(i int) bool {
	v := k.Field(i)
	if k.hasComputedDefault && k.ExclusiveMin && k.Min == 0 && v.IsZero() {
		return true
	}
	if v.Kind() == reflect.Slice {
		return k.omitDefault && v.Len() == 0
	}
	return k.omitDefault && v.Equal(k.defaultValue)
}

// Reference writes a table of keys as Markdown. rows are the keys to include.
func (t *Table) Reference(w io.Writer, title string, rows []ReferenceRow) {
	if title == "" {
		title = "`" + t.Title() + "`"
	}
	fmt.Fprintf(w, "### %s\n\n%s", title, t.Doc)
	if t.When != nil {
		fmt.Fprintf(w, " To use it, %s.", t.When.Hint)
	}
	fmt.Fprint(w, "\n\n")
	if len(rows) == 0 {
		return
	}
	fmt.Fprint(w, "| key | value | default | meaning |\n|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintln(w, r.Text)
	}
	fmt.Fprintln(w)
}

// A ReferenceRow is a key in the reference.
type ReferenceRow struct {
	Key  string // name of the key
	Text string // in Markdown, without a newline
}

// Rows returns the reference rows of all keys.
func (t *Table) Rows() []ReferenceRow {
	var list []ReferenceRow
	for _, k := range t.Keys {
		list = append(list, ReferenceRow{Key: k.Name, Text: fmt.Sprintf("| `%s` | %s | %s | %s |", k.Name, k.valueText(), k.defaultText(), k.meaning())})
	}
	return list
}

// Title returns the header of the table in a file, or "" for the keys before the first
// table.
func (t *Table) Title() string {
	switch {
	case t.Path == "":
		return ""
	case t.IsArray():
		return "[[" + t.Path + "]]"
	}
	return "[" + t.Path + "]"
}

// Describe describes the keys of a table for a terminal with lines of at most width
// characters. wanted selects them by dotted path. A key has a line with its values and
// default, followed by its meaning.
func (t *Table) Describe(wanted func(path string) bool, width int) string {
	var b strings.Builder
	plain := strings.NewReplacer("`", "")
	for _, k := range t.Keys {
		if !wanted(strings.TrimPrefix(t.Path+"."+k.Name, ".")) {
			continue
		}
		line := k.Name + ": " + plain.Replace(k.valueText())
		if d := k.defaultText(); d != "" {
			line += " (" + plain.Replace(d) + ")"
		}
		const indentation, hang = 6, 0
		b.WriteString(text.Indent(text.Wrap(line, width-2, indentation-2), 2) + "\n")
		b.WriteString(text.Indent(text.Wrap(plain.Replace(k.meaning()), width-indentation, hang), indentation) + "\n")
	}
	return b.String()
}

// meaning returns the doc of a key with the condition of its use.
func (k *Key) meaning() string {
	if used := k.UseCondition(); used != nil {
		return k.Doc + "; to use it, " + used.Hint
	}
	return k.Doc
}

// typeNames are the descriptions of types in the reference. Numbers with bounds are
// described by boundsText.
var typeNames = map[reflect.Type]string{
	reflect.TypeFor[string]():          "text",
	reflect.TypeFor[bool]():            "`true` or `false`",
	reflect.TypeFor[units.Bytes]():     "a size",
	reflect.TypeFor[engine.Time]():     "a time",
	reflect.TypeFor[units.Frequency](): "a frequency, such as `0.0008/day`",
	reflect.TypeFor[[]string]():        "list of texts",
	reflect.TypeFor[[]int]():           "list of whole numbers",
	reflect.TypeFor[[][]int]():         "list of rows of whole numbers",

	reflect.TypeFor[map[string][]string](): "table of lists",
}

// valueText describes the accepted values of a key.
func (k *Key) valueText() string {
	names := ""
	if c := k.Choices(); c != nil {
		names = "`" + strings.Join(c, "`, `") + "`"
	}
	// Choices take precedence over the type.
	description, known := typeNames[k.Type]
	switch {
	case names != "" && k.Type.Kind() == reflect.Slice:
		return "list of " + names
	case names != "":
		return "one of " + names
	case known:
		return description
	case k.Type == reflect.TypeFor[units.Rate]():
		return k.boundsText("a rate")
	case k.Type.Kind() == reflect.Float64, k.Type == reflect.TypeFor[*float64]():
		return k.boundsText("number")
	case k.Type.Kind() == reflect.Slice:
		return "array of tables"
	}
	return k.boundsText("whole number")
}
