// This file writes the description of all keys: as Markdown (docs/scenario.md), for a
// terminal, and as a JSON Schema for editors.

package scenarios

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"sim/internal/alias"
	"sim/scenarios/result"
	"sim/scenarios/schema"
	"sim/workloads/training"
)

// WriteReference writes all keys of all kinds as Markdown. A key that several kinds share
// is described at the first one; the others refer to it. It fails if w does.
func WriteReference(w io.Writer) error {
	var b strings.Builder
	s := &Scenario{}
	general := formSchema(s, forOneJob).Tables[0]
	general.Reference(&b, "Every scenario", general.Rows())

	// heads counts headings with the same anchor. known holds the link to the first form
	// with a row, by table and text of the row.
	heads := map[string]int{}
	known := map[[2]string]string{}
	for _, k := range allForms() {
		name := k.section + " " + schema.Quote(k.name)
		head := k.section + ": kind " + schema.Quote(k.name)
		if on := k.specialFabrics(); on != nil {
			name += " on " + strings.Join(on, ", ")
			head += ", on fabric " + schema.QuotedList(on)
		}

		link := fmt.Sprintf("[%s](#%s)", name, headingAnchor(head, heads))
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", head, k.doc)

		// whole lists the tables that equal a table of an earlier form, by the link to that
		// form. kinds holds these links in order.
		whole := map[string][]string{}
		var kinds []string
		for _, t := range schema.New(s.tagNames(forOneJob), k.parts(s)...).Tables {
			// Separate the new rows of the table from the rows of earlier forms, which are
			// shared with the form at origins.
			var own []schema.ReferenceRow
			var origins []string
			shared := map[string][]string{}
			for _, r := range t.Rows() {
				row := [2]string{t.Path, r.Text}
				first, met := known[row]
				if !met {
					known[row] = link
					own = append(own, r)
					continue
				}
				if r.Key == "kind" {
					continue // all sections have the key
				}
				if shared[first] == nil {
					origins = append(origins, first)
				}
				shared[first] = append(shared[first], "`"+r.Key+"`")
			}

			// A table without any new row is mentioned only.
			if own == nil && len(origins) == 1 && len(shared[origins[0]]) == len(t.Keys) {
				if whole[origins[0]] == nil {
					kinds = append(kinds, origins[0])
				}
				whole[origins[0]] = append(whole[origins[0]], "`"+t.Title()+"`")
				continue
			}
			t.Reference(&b, defaultTitle, own)
			for _, first := range origins {
				fmt.Fprintf(&b, "As of %s: %s.\n\n", first, strings.Join(shared[first], ", "))
			}
		}

		// Mention the equal tables, and list the presets of training.
		for _, first := range kinds {
			fmt.Fprintf(&b, "Whole tables as of %s: %s.\n\n", first, strings.Join(whole[first], ", "))
		}
		if k.isTraining && k == k.forms[0] {
			b.WriteString("Presets of modelling choices:\n\n")
			for _, p := range training.Presets {
				fmt.Fprintf(&b, "- `%s`: %s.\n", p.Name, p.Doc)
			}
			b.WriteString("\n")
		}
	}

	writeStudyReference(&b)
	writeDeprecatedReference(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// headingAnchor returns the anchor that Markdown renderers give a heading. heads counts
// headings with equal text, since later ones get a suffix.
func headingAnchor(head string, heads map[string]int) string {
	text := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		}

		return -1
	}, strings.ToLower(head))
	heads[text]++
	if n := heads[text]; n > 1 {
		return fmt.Sprintf("%s-%d", text, n-1)
	}
	return text
}

// WriteKeys writes a description of keys for people at a terminal: the keys of a kind
// ("fabric.torus"), of a table ("policy.ecmp"), or all keys with a prefix
// ("workload.micro"). If no key matches, it writes nothing and returns all possible
// arguments. Lines have at most width characters. It fails if w does.
func WriteKeys(w io.Writer, prefix string, width int) (known []string, err error) {
	var b strings.Builder
	s, seen := &Scenario{}, map[string]bool{}
	const ifMatching = false // argument all of add

	// add writes the keys of tables that match prefix, or all of them. Tables with equal
	// text are written once.
	add := func(title string, all bool, tables []*schema.Table) {
		for _, t := range tables {
			text := t.Describe(func(path string) bool {
				known = append(known, path)
				return all || path == prefix || strings.HasPrefix(path, prefix)
			}, width)
			if text == "" || seen[text] {
				continue // of another kind with the same keys
			}
			seen[text] = true
			if b.Len() > 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "%s\n%s", title+t.Title(), text)
		}
	}
	add("every scenario", ifMatching, formSchema(s, forOneJob).Tables[:1])
	for _, k := range allForms() {
		name := k.section + "." + k.name
		known = append(known, name)
		title := name + ", "
		if on := k.specialFabrics(); on != nil {
			title = name + " on " + strings.Join(on, ", ") + ", "
		}
		add(title, name == prefix, schema.New(s.tagNames(forOneJob), k.parts(s)...).Tables)
	}

	add("studies, ", ifMatching, plotSchema(new([]result.Plot)).Tables)
	if b.Len() == 0 {
		slices.Sort(known)
		return slices.Compact(known), nil
	}

	_, err = io.WriteString(w, b.String())
	return nil, err
}

// WriteJSONSchema writes a JSON Schema of scenarios and studies, which editors use to
// complete and check keys. It covers the keys of each kind. Parse checks the rest: which
// keys a whole scenario requires, and conditions between keys. It fails if w does.
func WriteJSONSchema(w io.Writer) error {
	s := &Scenario{}
	var all []*schema.Table
	sectionKinds := map[string][]schema.Object{}
	for _, k := range allForms() {
		tables := formSchema(s, forOneJob, k).Tables
		own := schema.JSON(
			k.section,
			slices.DeleteFunc(
				slices.Clone(tables),
				func(t *schema.Table) bool { return !isWithin(t.Path, k.section) },
			),
		)
		own["properties"].(schema.Object)["kind"] = schema.Object{
			"enum":        []string{k.name},
			"description": k.doc,
		}
		sectionKinds[k.section] = append(sectionKinds[k.section], own)
		all = append(all, slices.DeleteFunc(
			tables,
			func(t *schema.Table) bool { return isWithin(t.Path, k.section) },
		)...)
	}

	addTierKinds(sectionKinds["fabric"])
	all = append(all, plotSchema(new([]result.Plot)).Tables...)

	// Sections of a job have the same alternatives as at the top of the file.
	const wholeFile = ""
	root := schema.JSON(wholeFile, all)
	properties := root["properties"].(schema.Object)
	for _, section := range sections {
		properties[section] = schema.Object{"anyOf": sectionKinds[section]}
		job := properties["job"].(schema.Object)["items"].(schema.Object)["properties"].(schema.Object)
		job[section] = properties[section]
	}

	// Any key can be varied, so the table [sweep] is not restricted.
	properties["sweep"] = schema.Object{
		"type":        "object",
		"description": "Keys with the values that they take, as a list or a range: of a study.",
	}
	root["$schema"], root["title"] = "http://json-schema.org/draft-07/schema#", "Scenario of sim"
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(root)
}

// addTierKinds lets the elements of fabric.tier have the keys of any other fabric in
// addition to the options of a tier. fabrics are the schemas of all fabrics.
func addTierKinds(fabrics []schema.Object) {
	// Find the fabric with the key "tier", and the keys that all tiers have.
	tiersIndex := slices.IndexFunc(
		fabrics,
		func(o schema.Object) bool { return o["properties"].(schema.Object)["tier"] != nil },
	)
	tier := fabrics[tiersIndex]["properties"].(schema.Object)["tier"].(schema.Object)
	own := tier["items"].(schema.Object)["properties"].(schema.Object)

	// Each other fabric is an alternative, with these keys added.
	var alternatives []schema.Object
	for i, o := range fabrics {
		if i == tiersIndex {
			continue
		}
		properties := maps.Clone(own)
		maps.Copy(properties, o["properties"].(schema.Object))
		one := maps.Clone(o)
		one["properties"] = properties
		alternatives = append(alternatives, one)
	}

	tier["items"] = schema.Object{"anyOf": alternatives}
}

// writeDeprecatedReference writes the deprecated keys and metrics with their current names.
func writeDeprecatedReference(b *strings.Builder) {
	b.WriteString("## Deprecated names\n\nThese names of keys and metrics work, with a warning.\n\n" +
		"| deprecated | current |\n|---|---|\n")
	for _, r := range alias.Keys {
		fmt.Fprintf(b, "| `%s` | `%s` |\n", r.Old, alias.Key(r.Old))
	}
	for _, r := range alias.Metrics {
		fmt.Fprintf(b, "| `%s` | `%s` |\n", r.Old, r.New)
	}
}
