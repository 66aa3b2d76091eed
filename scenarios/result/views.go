package result

import (
	"fmt"
	"slices"
	"strings"
)

// WallMetrics are the names of the wall-clock times that are measured beside metrics: to decide, and to simulate.
var WallMetrics = []string{solveTime, simulateTime}

// Metrics returns the times by the names of WallMetrics.
func (t PolicyTimings) Metrics() map[string]float64 {
	return map[string]float64{solveTime: t.SolveS, simulateTime: t.SimulateS}
}

// Value returns a metric of a cell, one of the ideal fabric after ReferencePrefix, or a time of WallMetrics; t may be nil.
func (c *Cell) Value(name string, t *SweepTimings) (v float64, ok bool) {
	if v, ok = c.Metrics[name]; ok {
		return v, true
	}
	if of, ok := strings.CutPrefix(name, ReferencePrefix); ok {
		v, ok = c.Reference[of]
		return v, ok
	}
	if t != nil {
		if times, timed := t.Cells[c.Key]; timed {
			v, ok = times.Metrics()[name]
		}
	}
	return v, ok
}

// WorkEnd is when the work of a row ends, and what takes that time: an iteration, or the completion of calls.
type WorkEnd struct {
	Metric string
	Span   string // "iteration" or "completion"
	S      float64
}

var endMetrics = []WorkEnd{{CompletionTime, "completion", 0}, {IterationTime, "iteration", 0}}

// End returns the end of a row's work: its completion if it has one, else its iteration; ok is false if it has neither.
func (r *Row) End() (e WorkEnd, ok bool) {
	for _, e := range endMetrics {
		if v, ok := r.Metrics[e.Metric]; ok {
			e.S = v
			return e, true
		}
	}
	return endMetrics[1], false
}

// EndBound returns the lower bound on the time at which a row's work ends, and that end; ok is false if it has none.
func (r *Row) EndBound() (e WorkEnd, bound float64, ok bool) {
	for _, e := range slices.Backward(endMetrics) {
		if v, has := r.Metrics[BoundPrefix+e.Metric]; has {
			e.S = r.Metrics[e.Metric]
			return e, v, true
		}
	}
	return WorkEnd{}, 0, false
}

// LinkLoads is what links carry under a row's routes.
type LinkLoads struct {
	Max, Bound float64
	OverRate   bool    // loads are over the rates of links
	FaultRatio float64 // of throughput, under what is down to that without; 0 if not known
	FaultFree  float64 // the largest load of a link without faults, if FaultRatio is known
	Hops       float64 // on average
	FluidS     float64 // time of a fluid; 0 if not known
}

// LinkLoads returns what a row's links carry; ok is false if it was not measured.
func (r *Row) LinkLoads() (l LinkLoads, ok bool) {
	m := r.Metrics
	l.Max, ok = m[maxLinkLoad]
	l.Bound, l.FaultRatio, l.Hops, l.FluidS = m[BoundPrefix+maxLinkLoad], m[faultRatio], m[averageHops], m[FluidTime]
	l.FaultFree = l.Max * l.FaultRatio
	if over, has := m[maxLoadOverRate]; has {
		l.Max, l.Bound, l.OverRate = over, m[BoundPrefix+maxLoadOverRate], true
	}
	return l, ok
}

// ExposedCalls returns by how much a row would end sooner without the calls of dimensions of parallelism, in the order
// of the table; nil if that is not measured.
func (r *Row) ExposedCalls() (dims []string, seconds []float64) {
	for _, m := range Metrics {
		dim, _ := strings.CutSuffix(m.Name, "_exposed_s")
		if v, ok := r.Metrics[m.Name]; ok && m.Head == "exposed\n"+strings.ToUpper(dim) {
			dims, seconds = append(dims, dim), append(seconds, v)
		}
	}
	return dims, seconds
}

// TierKinds is the label of a row that lists the kinds of the tiers of its machine, from the inside out.
const TierKinds = "tiers"

// Tier is what a row says of a tier of a machine.
type Tier struct {
	Name     string  `json:"name"` // its number from the inside out, and its kind
	Bytes    float64 `json:"bytes"`
	Busy     float64 `json:"busy"`
	ExposedS float64 `json:"exposed_s"`
	DoubledS float64 `json:"doubled_s"`
}

// Tiers returns what a row says of the tiers of its machine, from the inside out; none of other fabrics.
func Tiers(r *Row) (list []Tier) {
	kinds := strings.Split(r.Labels[TierKinds], ", ")
	for i := 1; ; i++ {
		of := func(what string) float64 { return r.Metrics[fmt.Sprintf("tier%d_%s", i, what)] }
		if _, ok := r.Metrics[fmt.Sprintf("tier%d_exposed_s", i)]; !ok {
			return list
		}
		t := Tier{fmt.Sprint(i), of("bytes"), of("busy"), of("exposed_s"), of("doubled_s")}
		if i <= len(kinds) {
			t.Name += " " + kinds[i-1]
		}
		list = append(list, t)
	}
}
