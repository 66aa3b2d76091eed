package page

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"sim/scenarios/result"
)

// optionalPart is a section of a simulation that a page can omit.
type optionalPart struct {
	what     string // name for messages
	policy   string
	document string // name of the document
	best     bool   // belongs to the best policy
	size     int
	drop     func()
}

// fit returns documents whose compressed size is at most maxBytes, and messages about
// omitted parts. It omits parts of simulations, the largest first, and the parts of the
// best policy last. The input is not changed. Sizes are measured with fast compression and so
// are upper estimates.
func fit(docs []Document, maxBytes int) (fitting []Document, left []string, err error) {
	whole, err := compressedJSON(docs, gzip.BestSpeed)
	if err != nil || len(whole) <= maxBytes {
		return docs, []string{}, err
	}
	fitting = slices.Clone(docs)
	var parts []optionalPart
	for i := range fitting {
		d := &fitting[i]
		if d.Run == nil {
			continue
		}
		// A copy, so that the caller's data stay unchanged.
		run, detail := *d.Run, *d.Detail
		detail.Policies = slices.Clone(detail.Policies)
		run.Detail, run.Plans, d.Run = &detail, maps.Clone(run.Plans), &run
		list, err := partsOf(d)
		if err != nil {
			return nil, nil, err
		}
		parts = append(parts, list...)
	}
	slices.SortStableFunc(parts, func(a, b optionalPart) int {
		if a.best != b.best {
			if a.best {
				return 1
			}
			return -1
		}
		return cmp.Compare(b.size, a.size)
	})

	left = []string{}
	for size, i := len(whole), 0; size > maxBytes && i < len(parts); i++ {
		p := &parts[i]
		p.drop()
		left = append(left, fmt.Sprintf("%s: %s of %s", p.document, p.what, p.policy))
		size -= p.size
	}
	return fitting, left, nil
}

// optionalFields are the fields of a simulation that a page can omit.
var optionalFields = []struct{ field, what string }{
	{"Tracks", "the timeline"},
	{"Circuits", "the rates of circuits"},
	{"Demand", "the bandwidth that pods need"},
	{"Rates", "the rates of gradient synchronisation"},
	{"Path", "the critical path"},
	{"Jobs", "what each job does"},
	{"Torus", "the links of the torus"},
	{"Graph", "the links of the graph"},
	{"Fleet", "the jobs on cubes"},
}

// partsOf lists the optional parts of a run's document.
func partsOf(d *Document) (list []optionalPart, err error) {
	best := ""
	if d.Table.Best >= 0 {
		best = d.Result.Rows[d.Table.Best].Policy
	}
	add := func(p *result.Simulation, what string, v any, drop func()) {
		packed, e := compressedJSON(v, gzip.BestSpeed)
		err = cmp.Or(err, e)
		if len(packed) > 1<<10 { // smaller parts are not omitted
			list = append(list, optionalPart{what, cmp.Or(p.Policy, "the ideal fabric"), d.Name, p.Policy == best, len(packed), drop})
		}
	}
	sims := []*result.Simulation{&d.Detail.Reference}
	for i := range d.Detail.Policies {
		sims = append(sims, &d.Detail.Policies[i])
	}
	for _, p := range sims {
		fields := reflect.ValueOf(p).Elem()
		for _, o := range optionalFields {
			field := fields.FieldByName(o.field)
			add(p, o.what, field.Interface(), field.SetZero)
		}
		if p.Schedule != nil {
			add(p, "the transmissions of the plan", p.Schedule.Phases, func() {
				s := *p.Schedule
				s.Phases = slices.Clone(s.Phases)
				for i := range s.Phases {
					s.Phases[i].Sent = nil
				}
				p.Schedule, d.Plans[p.Policy] = &s, s.Plan()
			})
		}
	}
	return list, err
}
