// This file selects groups of metrics from a row: its end, link loads, exposed calls
// and tiers.

package result

import (
	"fmt"
	"slices"
	"strings"
)

// WallMetrics are the names of the wall-clock times: time to decide and time to simulate.
var WallMetrics = []string{solveTime, simulateTime}

// Metrics returns the times, keyed by the names of WallMetrics.
func (t PolicyTimings) Metrics() map[string]float64 {
	return map[string]float64{solveTime: t.SolveS, simulateTime: t.SimulateS}
}

// Value returns a metric of a cell, a metric of the ideal fabric after ReferencePrefix,
// or a time of WallMetrics. t may be nil.
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

// WorkEnd is the end of a row's work: of an iteration, or of collective calls.
type WorkEnd struct {
	Metric string
	Span   string  // "iteration" or "completion"
	S      float64 // in seconds
}

// endMetrics are the metrics of the end of a row's work, in the order in which End looks for
// them. The row's time is filled in.
var endMetrics = []WorkEnd{{Metric: CompletionTime, Span: "completion"}, iterationEnd}

// iterationEnd is the end of an iteration, without its time.
var iterationEnd = WorkEnd{Metric: IterationTime, Span: "iteration"}

// End returns the completion of a row if it has one, else its iteration time. If it has
// neither, End returns iterationEnd and ok is false.
func (r *Row) End() (e WorkEnd, ok bool) {
	for _, e := range endMetrics {
		if v, ok := r.Metrics[e.Metric]; ok {
			e.S = v
			return e, true
		}
	}
	return iterationEnd, false
}

// EndBound returns the end of a row's work that has a lower bound, and the bound. ok is
// false if there is no bound.
func (r *Row) EndBound() (e WorkEnd, bound float64, ok bool) {
	for _, e := range slices.Backward(endMetrics) {
		if v, has := r.Metrics[BoundPrefix+e.Metric]; has {
			e.S = r.Metrics[e.Metric]
			return e, v, true
		}
	}
	return WorkEnd{}, 0, false
}

// LinkLoads are the link loads of a row.
type LinkLoads struct {
	Max, Bound float64
	OverRate   bool    // loads are divided by link rates
	FaultRatio float64 // throughput with faults divided by throughput without; 0 if unknown
	FaultFree  float64 // largest link load without faults, if FaultRatio is known
	Hops       float64 // mean number of hops
	FluidS     float64 // fluid time in seconds; 0 if unknown
}

// LinkLoads returns the link loads of a row; ok is false if they were not computed.
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

// ExposedCalls returns the exposed communication time of each dimension of parallelism,
// in table order: how much earlier the row would end without its calls. It returns nil if
// that is not computed.
func (r *Row) ExposedCalls() (dims []string, seconds []float64) {
	for _, m := range Metrics {
		dim, _ := strings.CutSuffix(m.Name, "_exposed_s")
		if v, ok := r.Metrics[m.Name]; ok && m.Head == "exposed\n"+strings.ToUpper(dim) {
			dims, seconds = append(dims, dim), append(seconds, v)
		}
	}
	return dims, seconds
}

// TierKinds is the label with the kinds of a machine's tiers, from the inside out.
const TierKinds = "tiers"

// Tier is the metrics of one tier of a machine.
type Tier struct {
	Name     string  `json:"name"`      // number from the inside out, and kind
	Bytes    float64 `json:"bytes"`     // bytes that the tier carries
	Busy     float64 `json:"busy"`      // fraction of time in which the tier is busy
	ExposedS float64 `json:"exposed_s"` // additional time because of the tier's traffic
	DoubledS float64 `json:"doubled_s"` // time of the work if the tier's links had twice the rate
}

// Tiers returns the tiers of a row's machine, from the inside out; nil for other fabrics.
func Tiers(r *Row) (list []Tier) {
	kinds := strings.Split(r.Labels[TierKinds], ", ")
	for i := 1; ; i++ {
		of := func(what string) float64 { return r.Metrics[fmt.Sprintf("tier%d_%s", i, what)] }
		if _, ok := r.Metrics[fmt.Sprintf("tier%d_exposed_s", i)]; !ok {
			return list
		}
		t := Tier{Name: fmt.Sprint(i), Bytes: of("bytes"), Busy: of("busy"), ExposedS: of("exposed_s"), DoubledS: of("doubled_s")}
		if i <= len(kinds) {
			t.Name += " " + kinds[i-1]
		}
		list = append(list, t)
	}
}
