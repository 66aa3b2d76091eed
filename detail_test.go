package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"sim/scenarios/result"
)

// digestsOf returns a line for each simulation of a detail with a digest of each section that
// is not empty. Digests show changes of a series, an explanation or a timeline that no metric
// shows.
func digestsOf(d *result.Detail) ([]byte, error) {
	var b strings.Builder
	line := func(name string, v reflect.Value) error {
		b.WriteString(name)
		for i := range v.NumField() {
			section, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if f := v.Field(i); section != "-" && section != "policy" && !f.IsZero() {
				text, err := json.Marshal(f.Interface())
				if err != nil {
					return fmt.Errorf("%s of %s: %w", section, name, err)
				}
				sum := sha256.Sum256(text)
				fmt.Fprintf(&b, " %s=%x", section, sum[:6])
			}
		}

		b.WriteString("\n")
		return nil
	}

	if err := line("reference", reflect.ValueOf(d.Reference)); err != nil {
		return nil, err
	}
	for i := range d.Policies {
		if err := line(d.Policies[i].Policy, reflect.ValueOf(d.Policies[i])); err != nil {
			return nil, err
		}
	}

	if err := line("windows", reflect.ValueOf(d.Windows)); err != nil {
		return nil, err
	}
	return []byte(b.String()), nil
}

// checkConservation checks sums that hold in every detail. The steps of a critical path and the
// parts of an explanation add up to the time that they explain. The rates of a series,
// integrated over time, do not depend on the policy, unless policies are mappings of ranks.
func checkConservation(doc *result.Document, d *result.Detail) error {
	sims := append([]result.Simulation{d.Reference}, d.Policies...)
	bitsOf := map[string]map[string]float64{} // bits, indexed by series and policy
	for i := range sims {
		p := &sims[i]
		if p.MakespanS > 0 && len(p.Path) > 0 {
			sum := 0.0
			for _, s := range p.Path {
				sum += s.LagS + s.IdealS + s.CircuitS + s.SharingS
			}
			if !isClose(sum, p.MakespanS) {
				return fmt.Errorf("the steps of the critical path of %s add up to %g s, want %g s",
					p.Policy, sum, p.MakespanS)
			}
		}

		if t := p.Traffic; t != nil && t.Chain != nil {
			sum := 0.0
			for _, c := range t.Chain.Parts {
				sum += c.LatencyS + c.UnsharedS + c.SharingS
			}
			if !isClose(sum, t.Chain.EndS) {
				return fmt.Errorf("the parts of the chain of %s add up to %g s, want %g s",
					p.Policy, sum, t.Chain.EndS)
			}
		}

		if t := p.Traffic; t != nil && t.Delay != nil && p.Delay != nil {
			if sum := t.Delay.SerialS + t.Delay.LatencyS + t.Delay.WaitS; !isClose(sum, p.Delay.MeanS) {
				return fmt.Errorf("the parts of the delay of %s add up to %g s, want %g s",
					p.Policy, sum, p.Delay.MeanS)
			}
		}

		add := func(name string, s *result.Series) {
			if bitsOf[name] == nil {
				bitsOf[name] = map[string]float64{}
			}
			for k := range len(s.TimeS) - 1 {
				bitsOf[name][p.Policy] += s.Value[k] * (s.TimeS[k+1] - s.TimeS[k])
			}
		}

		for k := range p.Demand {
			add("demand of "+p.Demand[k].Name, &p.Demand[k])
		}
		for k := range p.Rates {
			add("gradient synchronisation of "+p.Rates[k].Name, &p.Rates[k])
		}
		for k := range p.Circuits {
			add("circuits", &p.Circuits[k])
		}
	}

	for i := range doc.Rows {
		// Only mappings have these metrics.
		for _, metric := range []string{"inter_pod_bytes", "mapping_evaluations"} {
			if _, isMapping := doc.Rows[i].Metrics[metric]; isMapping {
				return nil
			}
		}
	}

	for _, name := range slices.Sorted(maps.Keys(bitsOf)) {
		first := math.NaN()
		for _, policy := range slices.Sorted(maps.Keys(bitsOf[name])) {
			bits := bitsOf[name][policy]
			if math.IsNaN(first) {
				first = bits
			}
			if math.Abs(bits-first) > 1e-6*first {
				return fmt.Errorf("integral of series %s: got %v bits, want the same for each policy", name, bitsOf[name])
			}
		}
	}

	return nil
}

// isClose reports whether times agree within a nanosecond plus a relative error of 1e-9.
func isClose(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b)+1e-9 }
