package scenarios

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"sim/engine"
	"sim/engine/units"
)

// Reference writes all keys of all kinds as Markdown. It fails when w does.
func Reference(w io.Writer) error {
	var b strings.Builder
	s := &Scenario{Replicas: []Replica{{}}, Jobs: []Job{{}}}
	general().reference(&b, s, "Every scenario")
	seen := map[string]*kind{}
	for _, k := range kinds() {
		on := ""
		if k.on != "" {
			on = ", on fabric " + quote(k.on)
		}
		fmt.Fprintf(&b, "## %s: kind %s%s\n\n%s\n\n", k.section, quote(k.name), on, k.doc)
		first := seen[k.like]
		switch {
		case k.like == "":
		case first == nil:
			seen[k.like] = k
		case len(first.tables) == len(k.tables):
			b.WriteString("It has the keys of the kind above.\n\n")
			continue
		default:
			fmt.Fprintf(&b, "It has the keys of %s, and these.\n\n", quote(first.name))
		}
		for i := range k.tables {
			t := &k.tables[i]
			if first != nil && slices.ContainsFunc(first.tables, func(same table) bool { return same.path == t.path }) {
				continue
			}
			name := "`[" + t.path + "]`"
			if t.isArray() {
				name = "`[[" + t.path + "]]`"
			}
			t.reference(&b, s, name)
		}
		if k.name == "training" && first == nil {
			b.WriteString("Presets of modelling choices:\n\n")
			for _, p := range presets {
				fmt.Fprintf(&b, "- `%s`: %s.\n", p.name, p.doc)
			}
			b.WriteString("\n")
		}
	}
	studyReference(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// reference writes one table. s only lends its fields' types.
func (t *table) reference(b *strings.Builder, s *Scenario, title string) {
	fmt.Fprintf(b, "### %s\n\n%s", title, t.doc)
	if t.when != nil {
		b.WriteString(" To use it, " + t.when.want + ".")
	}
	b.WriteString("\n\n| key | value | default | meaning |\n|---|---|---|---|\n")
	for i := range t.keys {
		k := &t.keys[i]
		doc := k.doc
		if k.when != nil {
			doc += "; to use it, " + k.when.want
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", k.name, k.values(s), k.defaults(), doc)
	}
	b.WriteString("\n")
}

// defaults words the default of a key.
func (k *key) defaults() string {
	if k.required {
		return "required"
	}
	return k.fillDoc
}

// values words what may be written for a key.
func (k *key) values(s *Scenario) string {
	names := ""
	if k.choices != nil {
		names = "`" + strings.Join(k.choices(), "`, `") + "`"
	}
	switch k.field(s, 0).(type) {
	case *string:
		if names != "" {
			return "one of " + names
		}
		return "text"
	case *bool:
		return "`true` or `false`"
	case *int, *int64, *uint64:
		return k.bounds("whole number")
	case *float64:
		return k.bounds("number")
	case *units.Rate:
		return k.bounds("a rate")
	case *units.Bytes:
		return "a size"
	case *engine.Time:
		return "a time"
	case *[]string:
		if names == "" {
			names = "texts"
		}
		return "list of " + names
	case *[]int:
		return "list of whole numbers"
	case *[][]int:
		return "list of rows of whole numbers"
	}
	return ""
}
