package scenarios

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"sim/scenarios/schema"
)

// Reference writes all keys of all kinds as Markdown. It fails when w does.
func Reference(w io.Writer) error {
	var b strings.Builder
	s := &Scenario{}
	tablesOf := func(k *kind) []*schema.Table { return schema.New(s.names(false), k.parts(s)...).Tables }
	schemaOf(s, false).Tables[0].Reference(&b, "Every scenario")
	seen := map[string]*kind{}
	for _, k := range kinds() {
		on := ""
		if k.on != "" {
			on = ", on fabric " + schema.Quote(k.on)
		}
		fmt.Fprintf(&b, "## %s: kind %s%s\n\n%s\n\n", k.section, schema.Quote(k.name), on, k.doc)
		var known []*schema.Table
		tables := tablesOf(k)
		switch first := seen[k.like]; {
		case k.like == "":
		case first == nil:
			seen[k.like] = k
		default:
			if known = tablesOf(first); len(known) == len(tables) {
				b.WriteString("It has the keys of the kind above.\n\n")
				continue
			}
			fmt.Fprintf(&b, "It has the keys of %s, and these.\n\n", schema.Quote(first.name))
		}
		for _, t := range tables {
			if !slices.ContainsFunc(known, func(same *schema.Table) bool { return same.Path == t.Path }) {
				t.Reference(&b, "")
			}
		}
		if k.name == "training" && known == nil {
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
