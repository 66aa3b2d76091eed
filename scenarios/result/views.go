package result

import "slices"

// Names of metrics that have a part in how results are worded.
const (
	gapName       = "gap"
	iterationTime = "makespan_s"
	completion    = "completion_s"
	computeTime   = "compute_makespan_s"
	trialCount    = "replay_plays"
	solveTime     = "solve_s"
	simulateTime  = "play_s"
)

// WallMetrics are the names of the wall-clock times that are measured beside metrics: to decide, and to simulate.
var WallMetrics = []string{solveTime, simulateTime}

// Metrics returns the times by the names of WallMetrics.
func (t PolicyTimings) Metrics() map[string]float64 {
	return map[string]float64{solveTime: t.SolveS, simulateTime: t.SimulateS}
}

// End is when the work of a row ends, and what takes that time: an iteration, or the completion of calls.
type End struct {
	Metric string
	Span   string // "iteration" or "completion"
	S      float64
}

var ends = []End{{completion, "completion", 0}, {iterationTime, "iteration", 0}}

// Ends returns the end of a row's work: its completion if it has one, else its iteration; ok is false if it has neither.
func (r *Row) Ends() (e End, ok bool) {
	for _, e := range ends {
		if v, ok := r.Metrics[e.Metric]; ok {
			e.S = v
			return e, true
		}
	}
	return ends[1], false
}

// Bounded returns the lower bound on the time at which a row's work ends, and that end; ok is false if it has none.
func (r *Row) Bounded() (e End, bound float64, ok bool) {
	for _, e := range slices.Backward(ends) {
		if v, has := r.Metrics["bound_"+e.Metric]; has {
			e.S = r.Metrics[e.Metric]
			return e, v, true
		}
	}
	return End{}, 0, false
}

// Gap is the relative distance of a row to the bound on what it is measured by.
func (r *Row) Gap() (v float64, ok bool) {
	v, ok = r.Metrics[gapName]
	return v, ok
}

// Trials returns how many trials a row has, and how many of them stalled.
func (r *Row) Trials() (all, stalled float64) {
	return r.Metrics[trialCount], r.Metrics["replay_stalled"]
}

// Trials returns how many trials a cell has.
func (c *Cell) Trials() float64 { return c.Metrics[trialCount] }

// Ideal is what the reference of a run takes.
type Ideal struct {
	EndS     float64
	ComputeS float64 // by computing alone
	Gap      float64 // to a lower bound on EndS
	Computes bool    // ComputeS is known
}

// Ideal returns what the reference takes; ok is false if there is none.
func (d *Document) Ideal() (i Ideal, ok bool) {
	i.EndS, ok = d.Reference[iterationTime]
	i.ComputeS, i.Computes = d.Reference[computeTime]
	i.Gap = d.Reference[gapName]
	return i, ok
}

// JobIdeal returns what the reference of one of several jobs takes.
func (d *Document) JobIdeal(job string) Ideal {
	return Ideal{EndS: d.Reference["job."+job+"."+iterationTime], ComputeS: d.Reference["job."+job+"."+computeTime], Computes: true}
}

// TrialIdeal returns what the reference takes in trials on average; ok is false without trials.
func (d *Document) TrialIdeal() (i Ideal, ok bool) {
	i.EndS, ok = d.Reference["replay_makespan_mean_s"]
	i.ComputeS, i.Computes = d.Reference["replay_compute_makespan_mean_s"]
	i.Gap = d.Reference["replay_gap_max"]
	return i, ok && i.Computes
}

// OverCalls reports whether rows take time over a step without their calls, which is then the reference.
func (d *Document) OverCalls() bool {
	for i := range d.Rows {
		if _, ok := d.Rows[i].Metrics["all_to_all_s"]; ok {
			return true
		}
	}
	return false
}

// CompletionBound is the lower bound on completion that a row's gap of completion is to: that of fluid schedules, whose
// bound is their own, or that of all plans.
func (d *Document) CompletionBound(r *Row, fluid bool) float64 {
	if fluid {
		return r.Metrics["bound_completion_fluid_s"]
	}
	return d.Reference["bound_completion_s"]
}

// CallBounded reports whether a row has a bound on its completion, of which its gap then is.
func (r *Row) CallBounded() bool {
	_, ok := r.Metrics["bound_"+completion]
	return ok
}

// IsCompletion reports whether a metric is the completion time.
func (m *Metric) IsCompletion() bool { return m.Name == completion }

// Objective is what multi-job allocators minimise.
type Objective struct {
	Value, Bound float64
	Words        string
	Bounded      bool
}

// Objective returns a row's objective; ok is false in runs of one job.
func (r *Row) Objective() (o Objective, ok bool) {
	const name = "objective"
	o.Value, ok = r.Metrics[name]
	o.Bound, o.Bounded = r.Metrics["bound_"+name]
	o.Words = r.Labels[name]
	return o, ok
}

// JobNCT is the NCT of one of several jobs in a row.
func (r *Row) JobNCT(job string) (v float64, ok bool) {
	v, _, ok = r.JobBar(job)
	return v, ok
}

// JobBar is the metric by which figures compare the jobs of a row, and its name.
func (r *Row) JobBar(job string) (v float64, metric string, ok bool) {
	const nct = "nct"
	v, ok = r.Metrics["job."+job+"."+nct]
	return v, nct, ok
}

// Ports is how many ports a row uses, or one of its several jobs, unless job is empty.
func (r *Row) Ports(job string) float64 {
	if job != "" {
		return r.Metrics["job."+job+".ports"]
	}
	return r.Metrics["ports"]
}

// Lending is what a job that lends ports uses and leaves.
type Lending struct {
	Ports, Ratio, Bound, Surplus, Choices float64
	NCT                                   float64
	HasNCT                                bool
}

// Lending returns what the port-lending job of a row does.
func (r *Row) Lending() Lending {
	m := r.Metrics
	nct, ok := m["donor_nct"]
	return Lending{m["donor_ports"], m["donor_port_ratio"], m["donor_bound_ports"], m["surplus_ports"], m["donor_choices"], nct, ok}
}

// CircuitLoads is what circuits carry that were not simulated.
type CircuitLoads struct{ MaxS, MaxBytes, MeanBytes, BoundS, FluidS, Gap float64 }

// CircuitLoads returns what a row's circuits carry; ok is false if it was not measured.
func (r *Row) CircuitLoads() (l CircuitLoads, ok bool) {
	m := r.Metrics
	l = CircuitLoads{m["max_circuit_s"], m["max_circuit_bytes"], m["mean_circuit_bytes"], m["bound_max_circuit_s"], m["fluid_s"], m[gapName]}
	return l, l.MaxS > 0
}

// LinkLoads is what links carry under a row's routes.
type LinkLoads struct {
	Max, Bound float64
	OverRate   bool    // loads are over the rates of links
	FaultRatio float64 // of throughput, under what is down to that without; 0 if not known
	Healthy    float64 // the largest load of a link without faults, if FaultRatio is known
	Hops       float64 // on average
	FluidS     float64 // time of a fluid; 0 if not known
}

// LinkLoads returns what a row's links carry; ok is false if it was not measured.
func (r *Row) LinkLoads() (l LinkLoads, ok bool) {
	m := r.Metrics
	l.Max, ok = m["max_link_load"]
	l.Bound, l.FaultRatio, l.Hops, l.FluidS = m["bound_max_link_load"], m["fault_ratio"], m["average_hops"], m["fluid_s"]
	l.Healthy = l.Max * l.FaultRatio
	if over, has := m["max_load_over_rate"]; has {
		l.Max, l.Bound, l.OverRate = over, m["bound_max_load_over_rate"], true
	}
	return l, ok
}

// MeanDelay returns the mean delay of packets, and whether packets were injected at all.
func (r *Row) MeanDelay() (v float64, measured, injected bool) {
	v, measured = r.Metrics["mean_delay_s"]
	_, injected = r.Metrics["injected"]
	return v, measured, injected
}

// ExposedCalls returns by how much a row would end sooner without the calls of dimensions of parallelism, in the order
// of the table; nil if that is not measured.
func (r *Row) ExposedCalls() (dims []string, seconds []float64) {
	for _, dim := range []string{"tp", "cp", "ep", "dp"} {
		if v, ok := r.Metrics[dim+"_exposed_s"]; ok {
			dims, seconds = append(dims, dim), append(seconds, v)
		}
	}
	return dims, seconds
}

// Kept is the share of chip-time that is work which is kept.
func (r *Row) Kept() float64 { return r.Metrics["goodput"] }

// TierExposed is the metric of the time that a tier of a machine exposes.
const TierExposed = "comm_exposed_s"

// Iteration returns the iteration time of a row; ok is false if it has none.
func (r *Row) Iteration() (v float64, ok bool) {
	v, ok = r.Metrics[iterationTime]
	return v, ok
}

// NoTrialNCT says why the trials of a row have no NCT, "" if they have one.
func (r *Row) NoTrialNCT() string { return r.Labels["replay_nct_mean"] }
