package scenarios

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"sim/workloads/training"

	"sim/scenarios/result"
	"sim/scenarios/schema"
)

// Reference writes all keys of all kinds as Markdown, each where it is first met. It fails when w does.
func Reference(w io.Writer) error {
	var b strings.Builder
	s := &Scenario{}
	every := schemaOf(s, false).Tables[0]
	every.Reference(&b, "Every scenario", every.Rows())
	heads := map[string]int{}       // how many there are
	known := map[[2]string]string{} // forms of kinds by table and row
	for _, k := range forms() {
		name := k.section + " " + schema.Quote(k.name)
		head := k.section + ": kind " + schema.Quote(k.name)
		if on := k.special(); on != nil {
			name += " on " + strings.Join(on, ", ")
			head += ", on fabric " + schema.QuotedList(on)
		}
		link := fmt.Sprintf("[%s](#%s)", name, anchor(head, heads))
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", head, k.doc)
		whole := map[string][]string{} // tables that are those of a kind
		var kinds []string
		for _, t := range schema.New(s.names(false), k.parts(s)...).Tables {
			var own []schema.ReferenceRow
			of, shared := []string(nil), map[string][]string{}
			for _, r := range t.Rows() {
				row := [2]string{t.Path, r.Text}
				first, met := known[row]
				if !met {
					known[row] = link
					own = append(own, r)
					continue
				}
				if r.Key == "kind" {
					continue // which all sections have
				}
				if shared[first] == nil {
					of = append(of, first)
				}
				shared[first] = append(shared[first], "`"+r.Key+"`")
			}
			if own == nil && len(of) == 1 && len(shared[of[0]]) == len(t.Keys) {
				if whole[of[0]] == nil {
					kinds = append(kinds, of[0])
				}
				whole[of[0]] = append(whole[of[0]], "`"+t.Title()+"`")
				continue
			}
			t.Reference(&b, "", own)
			for _, first := range of {
				fmt.Fprintf(&b, "As of %s: %s.\n\n", first, strings.Join(shared[first], ", "))
			}
		}
		for _, first := range kinds {
			fmt.Fprintf(&b, "Whole tables as of %s: %s.\n\n", first, strings.Join(whole[first], ", "))
		}
		if k.trains && k == k.forms[0] {
			b.WriteString("Presets of modelling choices:\n\n")
			for _, p := range training.Presets {
				fmt.Fprintf(&b, "- `%s`: %s.\n", p.Name, p.Doc)
			}
			b.WriteString("\n")
		}
	}
	studyReference(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// anchor is by what Markdown's readers link to a heading, of which there may be several.
func anchor(head string, heads map[string]int) string {
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

// Keys writes, for people at a terminal, the keys of a kind ("fabric.torus"), those of a table ("policy.ecmp") or those
// that begin with a text ("workload.micro"). Where there is none it writes nothing and returns what there is. It fails
// when w does.
func Keys(w io.Writer, of string) (known []string, err error) {
	var b strings.Builder
	s, seen := &Scenario{}, map[string]bool{}
	add := func(title string, all bool, tables []*schema.Table) {
		for _, t := range tables {
			text := t.Describe(func(path string) bool {
				known = append(known, path)
				return all || path == of || strings.HasPrefix(path, of)
			})
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
	add("every scenario", false, schemaOf(s, false).Tables[:1])
	for _, k := range forms() {
		name := k.section + "." + k.name
		known = append(known, name)
		title := name + ", "
		if on := k.special(); on != nil {
			title = name + " on " + strings.Join(on, ", ") + ", "
		}
		add(title, name == of, schema.New(s.names(false), k.parts(s)...).Tables)
	}
	add("studies, ", false, schema.New(nil, plotPart(new([]result.Plot))).Tables[:1])
	if b.Len() == 0 {
		slices.Sort(known)
		return slices.Compact(known), nil
	}
	_, err = io.WriteString(w, b.String())
	return nil, err
}

// JSONSchema writes a JSON Schema of scenarios and studies, by which editors complete and check keys. Which keys a
// section has follows from its kind; what a whole scenario needs, and what holds between keys, Parse alone tells. It
// fails when w does.
func JSONSchema(w io.Writer) error {
	s := &Scenario{}
	var all []*schema.Table
	sectionKinds := map[string][]schema.Object{}
	for _, k := range forms() {
		tables := schemaOf(s, false, k).Tables
		own := schema.JSON(k.section, slices.DeleteFunc(slices.Clone(tables), func(t *schema.Table) bool { return !under(t.Path, k.section) }))
		own["properties"].(schema.Object)["kind"] = schema.Object{"enum": []string{k.name}, "description": k.doc}
		sectionKinds[k.section] = append(sectionKinds[k.section], own)
		all = append(all, slices.DeleteFunc(tables, func(t *schema.Table) bool { return under(t.Path, k.section) })...)
	}
	tiersJSON(sectionKinds["fabric"])
	all = append(all, schema.New(nil, plotPart(new([]result.Plot))).Tables...)
	root := schema.JSON("", all)
	properties := root["properties"].(schema.Object)
	for _, section := range sections {
		properties[section] = schema.Object{"anyOf": sectionKinds[section]}
		job := properties["job"].(schema.Object)["items"].(schema.Object)["properties"].(schema.Object)
		job[section] = properties[section]
	}
	properties["sweep"] = schema.Object{"type": "object", "description": "Keys with the values that they take, as a list or a range: of a study."}
	root["$schema"], root["title"] = "http://json-schema.org/draft-07/schema#", "Scenario of sim"
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(root)
}

// tiersJSON gives the elements of fabric.tier the keys of other fabrics, whose objects are these, beside their own.
func tiersJSON(fabrics []schema.Object) {
	at := slices.IndexFunc(fabrics, func(o schema.Object) bool { return o["properties"].(schema.Object)["tier"] != nil })
	tier := fabrics[at]["properties"].(schema.Object)["tier"].(schema.Object)
	own := tier["items"].(schema.Object)["properties"].(schema.Object)
	var any []schema.Object
	for i, o := range fabrics {
		if i == at {
			continue
		}
		properties := maps.Clone(own)
		maps.Copy(properties, o["properties"].(schema.Object))
		one := maps.Clone(o)
		one["properties"] = properties
		any = append(any, one)
	}
	tier["items"] = schema.Object{"anyOf": any}
}
