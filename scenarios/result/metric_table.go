package result

import "cmp"

// Values of Metric.Of.
const (
	ofIteration = "a training iteration"
	ofBorrowing = "a job that borrows ports"
	ofJobs      = "several jobs"
	ofTrials    = "trials"
	ofMappings  = "mappings of ranks"
	ofPaths     = "paths on links"
	ofCircuits  = "circuits between pods"
	ofPackets   = "packets"
	ofCalls     = "collectives"
	ofPlans     = "plans of topologies"
	ofFabric    = "the fabric"
	ofFleets    = "fleets"
	ofSolvers   = "MILP solvers"
	ofRuns      = "every run"
)

// ChipTime is the Whole of the shares of a fleet: the time of all chips.
const ChipTime = "chip-time"

// Names of metrics used in code.
const (
	GapToBound       = "gap"
	IterationTime    = "makespan_s"
	CompletionTime   = "completion_s"
	ComputeTime      = "compute_makespan_s"
	TrialCount       = "trial_count"
	TrialStalls      = "trial_stalls"
	TrialNCT         = "trial_nct_mean"
	TrialTime        = "trial_makespan_mean_s"
	solveTime        = "solve_s"
	simulateTime     = "simulation_s"
	CallTime         = "all_to_all_s"
	Objective        = "objective"
	NCT              = "nct"
	PortsUsed        = "ports"
	SurplusPorts     = "surplus_ports"
	MaxCircuitTime   = "max_circuit_s"
	MaxCircuitBytes  = "max_circuit_bytes"
	MeanCircuitBytes = "mean_circuit_bytes"
	FluidTime        = "fluid_s"
	maxLinkLoad      = "max_link_load"
	maxLoadOverRate  = "max_load_over_rate"
	faultRatio       = "fault_ratio"
	averageHops      = "average_hops"
	MeanDelay        = "mean_delay_s"
	InjectedPackets  = "injected"
	Goodput          = "goodput"

	// TierExposed is the metric of exposed communication, also in figures of tiers.
	TierExposed = "comm_exposed_s"
)

// BoundPrefix precedes a metric's name in the name of its lower bound.
const BoundPrefix = "bound_"

// Metrics is the table of metrics, in the order in which tables show them.
var Metrics = ungrouped([]metricGroup{
	{ofJobs, 0, []Metric{
		{Name: Objective, Better: Lower, Words: "objective", Axis: "objective (1 = ideal fabric)", Base: 1, Head: "objective", Format: Fixed, Main: 1, WinPhrase: "is fastest",
			BoundSubject: "the objective", FailsComparison: true, Figure: Panel{Name: "nct"}},
		{Name: "nct_max", Better: Lower, Words: "largest NCT of a job", Head: "largest\nNCT", Format: Fixed, ForManyJobs: true},
		{Name: "pooled_objective", Better: Lower, Words: "objective where jobs share their circuits", Head: "objective\npooled", Format: Fixed},
		{Name: "nct_mean", Better: Lower, Words: "NCT of the mean iteration on shared circuits", Format: Fixed, JobHead: "pooled", Needs: "pooled_objective"},
	}},
	{ofIteration, 0, []Metric{
		{Name: "baseline_nct", Relative: TierExposed, Better: Lower, Words: "NCT without borrowed ports", Of: ofBorrowing, Head: "NCT\nbefore", Format: Fixed},
		{Name: NCT, Relative: TierExposed, Better: Lower, Words: "NCT", Axis: "NCT (1 = ideal fabric)", Base: 1, Head: "NCT", Format: Fixed, JobHead: "NCT", HiddenBy: []string{"pooled_objective"}, PlanHead: "NCT as\nplanned",
			Footnote: "NCT: exposed communication as a multiple of the ideal fabric's",
			Main:     2, FailsComparison: true, Figure: Panel{Name: "nct"}, BoundFormula: boundNCT,
			Meaning: "the communication time that computing does not hide, over that on the ideal fabric"},
		{Name: "nct_first", Relative: TierExposed, Better: Lower, Words: "NCT of the first iteration", Head: "NCT\nfirst", Format: Fixed, Since: 1,
			Meaning: "that of an iteration that finds the topology of its beginning in place"},
		{Name: IterationTime, Better: Lower, Words: "iteration time", Head: "iteration\ntime", Format: Time, JobHead: "iteration", HiddenBy: []string{"pooled_objective"},
			Main: 3, WinPhrase: "is fastest", BoundSubject: "the iteration time", FailsComparison: true,
			Figure: Panel{Name: "completion", Needs: "reconfigurations", Ranked: true}},
		{Name: TierExposed, Better: Lower, Words: "exposed communication", Head: "exposed\ncomm.", Format: Time},
		{Name: "tp_exposed_s", Better: Lower, Words: "exposed time of tensor-parallel calls", Head: "exposed\nTP", Format: Time},
		{Name: "cp_exposed_s", Better: Lower, Words: "exposed time of context-parallel calls", Head: "exposed\nCP", Format: Time},
		{Name: "ep_exposed_s", Better: Lower, Words: "exposed time of expert-parallel calls", Head: "exposed\nEP", Format: Time},
		{Name: "dp_exposed_s", Better: Lower, Words: "exposed time of data-parallel calls", Head: "exposed\nDP", Format: Time},
	}},
	{ofPaths, 0, []Metric{
		{Name: "hops_per_byte", Better: Lower, Words: "hops of shortest paths of a byte", Of: ofMappings, Unit: "hops",
			Head: "hops a byte,\ngap to bound", Format: Fixed, Secondary: "gap_hop_bytes", HiddenBy: []string{"objective"}},
		{Name: "gap_mapping", Better: Lower, Words: "gap to bound on the iteration time or objective, all mappings", Of: ofMappings, Head: "gap to bound,\nall mappings", Format: Gap, HiddenBy: []string{"objective"}},
		{Name: averageHops, Better: Lower, Words: "average distance", Unit: "hops", Head: "average\nhops", Format: Fixed},
		{Name: maxLinkLoad, Better: Lower, Words: "load of the most loaded link", Head: "max link load,\ngap to bound",
			Format: Amount, Secondary: "gap", HiddenBy: []string{"max_load_over_rate"}, Main: 8, WinPhrase: "spreads the load best",
			BoundSubject: "the load of the most loaded link", FailsComparison: true, Figure: Panel{Name: "loads"}},
		{Name: maxLoadOverRate, Better: Lower, Words: "largest load of a link over its rate",
			Head: "load over rate,\ngap to bound", Format: Amount, Secondary: "gap", Main: 7, WinPhrase: "spreads the load best",
			BoundSubject: "the load of the most loaded link", FailsComparison: true, Figure: Panel{Name: "loads"}},
	}},
	{ofCircuits, 4, []Metric{
		{Name: MaxCircuitTime, Better: Lower, Words: "time that the most loaded circuit needs", Head: "most loaded\ncircuit, gap", Format: Time,
			Secondary: "gap", Main: 10, WinPhrase: "spreads the load best", BoundSubject: "the load of the most loaded circuit", FailsComparison: true, Figure: Panel{Name: "loads"}},
		{Name: MaxCircuitBytes, Better: Lower, Words: "bytes of the most loaded circuit", Head: "most bytes\na circuit", Format: Count},
		{Name: MeanCircuitBytes, Better: Lower, Words: "bytes of a circuit, on average", Head: "mean bytes\na circuit", Format: Count},
	}},
	{ofCalls, 0, []Metric{
		{Name: "all_to_all_bytes_per_s", Better: Higher, Words: "all-to-all throughput", Of: ofPaths, Head: "all to all",
			Format: Rate, FailsComparison: true, Figure: Panel{Name: "loads", Row: 1}},
		{Name: faultRatio, Better: Higher, Words: "throughput under the fault, over that without", Of: ofPaths,
			Head: "against\nno fault", Format: Percent},
		{Name: CallTime, Better: Lower, Words: "time of an all-to-all", Head: "all to all", Format: Time, FailsComparison: true},
		{Name: CompletionTime, Better: Lower, Words: "completion time", Head: "completion", Format: Time, Main: 4,
			WinPhrase: "is fastest", BoundSubject: "the completion time", FailsComparison: true,
			Figure: Panel{Name: "completion", Needs: "reconfigurations", Ranked: true}},
		{Name: GapToBound, Better: Lower, Words: "gap to bound", Of: ofRuns, Head: "gap to\nbound", Format: Gap},
		{Name: "algorithm_bytes_per_s", Better: Higher, Words: "algorithm bandwidth", Head: "algorithm\nbandwidth", Format: Rate,
			Meaning: "what a rank has, puts in or is left with, over the completion time"},
	}},
	{ofPlans, 0, []Metric{
		{Name: "gap_completion", Better: Lower, Words: "gap to bound, any number of topologies",
			Head: "gap to\nbound", Format: Gap},
		{Name: "reconfigurations", Words: "reconfigurations", Head: "reconfig-\nurations", Format: Count},
		{Name: "slots", Better: Lower, Words: "slots", Head: "slots, gap\nto fewest", Format: Amount, Secondary: "gap",
			ZeroLabel: "fewest", BoundSubject: "the slots of plans of as many topologies", FailsComparison: true},
		{Name: "steps", Better: Lower, Words: "steps", Head: "steps", Format: Count},
		{Name: "buffer_chunks", Better: Lower, Words: "chunks that a GPU holds", Head: "peak\nbuffer", Format: Count,
			HiddenBy: []string{"synchronised_s", "all_to_all_s"}},
		{Name: "synchronised_s", Better: Lower, Words: "time of packets, slot by slot", Head: "slot\nby slot", Format: Time},
		{Name: "free_running_s", Better: Lower, Words: "time of packets, as links are free", Head: "as links\nare free",
			Format: Time},
	}},
	{ofPackets, 0, []Metric{
		{Name: FluidTime, Better: Lower, Words: "time of a fluid", Of: ofCalls, Head: "as fluid", Format: Time, Needs: "slots"},
		{Name: MeanDelay, Better: Lower, Words: "mean packet delay", Head: "mean\ndelay", Format: Time, Main: 6,
			WinPhrase: "delivers soonest", FailsComparison: true},
		{Name: "p99_delay_s", Better: Lower, Words: "99th percentile of packet delay", Head: "99 % within", Format: Class,
			HiddenBy: []string{"completion_s"}, FailsComparison: true},
		{Name: "accepted_load", Words: "accepted load", Head: "accepted", Format: Fixed},
		{Name: "delivered", Better: Higher, Words: "packets delivered", Format: Count, FailsComparison: true},
		{Name: "dropped", Better: Lower, Words: "packets dropped", Head: "dropped", Format: Count, HideIfZero: true, Main: 5,
			WinPhrase: "drops the fewest packets", FailsComparison: true},
	}},
	{ofTrials, 0, []Metric{
		{Name: PortsUsed, Better: Lower, Words: "ports used", Of: ofIteration, Head: "ports\nused", Format: Count, Secondary: "port_ratio",
			FailsComparison: true},
		{Name: "evaluations", Better: Lower, Words: "topologies tried", Of: ofIteration, Head: "topologies\ntried", Format: Count, HiddenBy: []string{"objective"}},
		{Name: TrialNCT, Relative: TierExposed, Better: Lower, Words: "mean NCT of trials", Table: "trials", Head: "NCT\nmean",
			Format: Fixed, FailsComparison: true},
		{Name: "trial_nct_p50", Relative: TierExposed, Better: Lower, Words: "median NCT of trials", Table: "trials", Head: "NCT\nmedian",
			Format: Fixed},
		{Name: "trial_nct_p95", Relative: TierExposed, Better: Lower, Words: "95th percentile of the NCT of trials", Table: "trials",
			Head: "NCT\np95", Format: Fixed},
		{Name: "trial_nct_p99", Relative: TierExposed, Better: Lower, Words: "99th percentile of the NCT of trials", Table: "trials",
			Head: "NCT\np99", Format: Fixed},
		{Name: "trial_nct_max", Relative: TierExposed, Better: Lower, Words: "largest NCT of trials", Table: "trials", Head: "NCT\nmost",
			Format: Fixed},
		{Name: TrialTime, Better: Lower, Words: "mean iteration time of trials", Table: "trials",
			Head: "iteration\nmean", Format: Time, FailsComparison: true},
		{Name: TrialStalls, Better: Lower, Words: "trials that stalled", Table: "trials", Head: "trials\nstalled",
			Format: Count, FailsComparison: true},
		named("trial_makespan_p95_s", Lower, "95th percentile of the iteration time of trials"),
		named(TrialCount, "", "trials"),
		named("trial_*", Lower, "other figures of trials"),
	}},
	{ofIteration, 0, []Metric{
		{Name: "break_even_s", Better: Higher, Words: "longest delay at which moving circuits pays", Unit: "s", Head: "break-\neven", Format: Time, Since: 1},
		{Name: "nct_critical_path", Relative: TierExposed, Better: Lower, Words: "NCT of the critical path"},
		named("bound_makespan_s", "", "lower bound on the iteration time"),
		named(ComputeTime, Lower, "compute time"),
		{Name: "max_interface_bytes", Better: Lower, Words: "bytes of the most loaded network interface, one way", Of: ofCircuits, Since: 4},
		{Name: "bound_max_circuit_s", Words: "lower bound on the time that the most loaded circuit needs", Of: ofCircuits, Since: 4},
		{Name: "port_ratio", Better: Lower, Words: "ports used", Format: Percent},
		{Name: "bound_ports", Words: "lower bound on ports",
			Meaning: "what every topology needs that is as fast; missing where heterogeneous replicas are decided by kind, of which no search looks through all topologies"},
		named("tasks", Lower, "tasks of the graph"),
		named("transfers", Lower, "transfers between pods"),
		named("exchange_exposed_s", Lower, "exposed time of all-to-alls"),
		named("hidden_s", Higher, "reconfigurations hidden behind computing"),
		named("tier*", "", "bytes that a tier of a machine carries, and the part of the time for which it does"),
		named("*_exposed_s", Lower, "how much longer it takes for what a tier carries"),
		named("*_doubled_s", Lower, "the time with links of twice the rate in a tier"),
	}},
	{ofBorrowing, 0, []Metric{
		named("baseline_makespan_s", Lower, "iteration time without borrowed ports"),
		named(SurplusPorts, "", "ports left by the lending job"),
		named("lender_*", "", "figures of the port-lending job"),
		{Name: "milp_*", Better: Lower, Words: "what a solver says of its model", Of: ofSolvers},
	}},
	{ofFleets, 2, []Metric{
		{Name: Goodput, Better: Higher, Words: "goodput", Head: "goodput,\ngap to bound", Format: Percent, Secondary: "gap",
			Main: 9, WinPhrase: "does most work", BoundSubject: "goodput", FailsComparison: true, Figure: Panel{Name: "fleet"}, Whole: ChipTime, Part: "work that is kept",
			Meaning: "the share of chip-time that is work which is kept, at full speed"},
		{Name: "utilisation", Better: Higher, Words: "utilisation", Head: "utilis-\nation", Format: Percent},
		{Name: "queue_mean_s", Better: Lower, Words: "mean time in the queue", Head: "queue\nmean", Format: Time, FailsComparison: true,
			Figure: Panel{Name: "fleet", Row: 1}},
		{Name: "queue_p99_s", Better: Lower, Words: "99th percentile of the time in the queue", Head: "queue\np99", Format: Time},
		{Name: "interrupted_share", Better: Lower, Words: "jobs that a failure interrupts", Head: "jobs\ninterrupted", Format: Percent},
		{Name: "ft_share", Words: "jobs on routes round a switch that is down", Head: "jobs\nrerouted", Format: Percent},
		{Name: "jobs_refused", Better: Lower, Words: "jobs that no empty pod has room for", Head: "jobs\nrefused", Format: Count, HideIfZero: true},
		{Name: "xconnects_per_day", Words: "connections of slices a day", Unit: "1/day", Head: "connections\na day", Format: Count},
		{Name: "xconnect_changes_per_day", Words: "connections made a day", Unit: "1/day"},
		{Name: "goodput_of_healthy", Better: Higher, Words: "goodput of chips that are up", Format: Percent},
		{Name: "bound_goodput", Words: "upper bound on goodput", Format: Percent},
		named("queue_p50_s", Lower, "median time in the queue"),
		named("queue_p90_s", Lower, "90th percentile of the time in the queue"),
		{Name: "system_availability", Better: Higher, Words: "time with at most one switch down", Format: Percent},
	}},
	{ofFleets, 3, []Metric{
		{Name: "fragmentation", Better: Lower, Words: "cubes that are free outside the largest slice that fits", Format: Percent},
		{Name: "availability", Better: Higher, Words: "time with room for the slice in a pod without jobs", Format: Percent},
		{Name: "expected_availability", Words: "availability of the slice by the closed form", Format: Percent},
		{Name: "availability_fixed", Better: Higher, Words: "time with the slice's own cubes up, were it tied to them", Format: Percent},
		{Name: "expected_availability_fixed", Words: "time with its own cubes up, by the closed form", Format: Percent},
		{Name: "slice_goodput", Better: Higher, Words: "chips in as many slices as a pod has cubes for", Format: Percent},
		{Name: "expected_slice_goodput", Words: "goodput of slices by the closed form", Format: Percent},
		{Name: "machine_availability", Words: "time that a machine is available", Format: Percent},
		named("machine_failures", "", "machines that failed"),
		named("machine_repairs", "", "machines that were repaired"),
		named("link_failures", "", "optical links that failed"),
		named("link_repairs", "", "optical links that were repaired"),
		named("ocs_failures", "", "optical switches that failed"),
		named("ocs_repairs", "", "optical switches that were repaired"),
	}},
	{ofFleets, 2, []Metric{
		{Name: "share_*", Words: "chip-time by use", Format: Percent, Whole: ChipTime},
		named("jobs", "", "jobs submitted"),
		{Name: "starts", Words: "jobs started", Since: 3},
		named("jobs_done", Higher, "jobs that ended"),
		named("interrupts", Lower, "interruptions by failures"),
		named("evictions", Lower, "evictions for maintenance"),
		named("preflight_failures", Lower, "starts that preflight stopped"),
		named("takeovers", "", "cubes that took over"),
	}},
	{ofFleets, 4, []Metric{
		named("preemptions", Lower, "jobs that made way for those of higher priority"),
		named("migrations", "", "jobs moved to make room, or off routes round a switch"),
		named("turnaround_mean_s", Lower, "mean time from submission to the end"),
		named("bound_turnaround_s", "", "lower bound on the mean time from submission to the end"),
		{Name: "gap_turnaround", Better: Lower, Words: "gap to bound, mean time from submission to the end", Format: Gap},
		{Name: "efficiency", Better: Higher, Words: "share of jobs' chip-time that is work which is kept", Format: Percent},
		{Name: "expected_efficiency", Words: "the same as checkpoints and failures leave it by closed form, without waiting", Format: Percent},
		named("slices_fit", Higher, "more slices of 8 cubes that fit, on average"),
		named("bound_slices_fit", "", "the most of them that fit as boxes of a grid without switches, by exact search"),
		named("spares_newsvendor", "", "spare cubes of a pod that a newsvendor would hold"),
		{Name: "work_done", Better: Higher, Words: "goodput, work counted as the slices that were asked for would take", Format: Percent},
	}},
	{ofJobs, 0, []Metric{
		named("pooled_*", Lower, "the same where jobs share their circuits"),
		named("iterations", "", "iterations measured on shared circuits"),
		named("iteration_mean_s", Lower, "mean iteration time on shared circuits"),
		named("iteration_max_s", Lower, "longest iteration on shared circuits"),
		named("drift", "", "drift of a job's iterations in the first job's cycle"),
		named("bound_objective", "", "lower bound on the objective"),
	}},
	{ofMappings, 0, []Metric{
		{Name: "sum_hops", Words: "hops of all ordered pairs", Of: ofPaths},
		{Name: "diameter", Better: Lower, Words: "diameter", Of: ofPaths, Unit: "hops"},
		named("hop_bytes", Lower, "bytes times hops of shortest paths, of all transfers"),
		named("bound_hop_bytes", "", "lower bound on bytes times hops"),
		{Name: "gap_hop_bytes", Better: Lower, Words: "gap to bound, bytes times hops", Format: Gap},
		named("mapping_evaluations", "", "exchanges of ranks looked at; in pods placements whose circuits were allocated"),
		named("inter_pod_bytes", Lower, "bytes between pods"),
		named("bound_mapping", "", "lower bound on the objective, all mappings"),
		named("bound_mapping_s", "", "lower bound on the iteration time, all mappings"),
	}},
	{ofPaths, 0, []Metric{
		named("bound_max_link_load", "", "lower bound on the largest load of a link"),
		named("unconstrained_max_link_load", Lower, "largest load of a link, cyclic routes allowed"),
		named("bound_max_load_over_rate", "", "lower bound on the largest load over rate"),
		named("unconstrained_max_load_over_rate", Lower, "largest load over rate, cyclic routes allowed"),
		named("nearest_neighbour_max_load", Lower, "largest load of a link, nearest neighbours"),
		named("channels", "", "virtual channels used"),
		named("canonical_sources", "", "canonical sources"),
		named("paths", Lower, "paths"),
		named("wild_pairs", "", "pairs with a detour"),
		named("table_entries", Lower, "entries of forwarding tables"),
		named("table_entries_chip", Lower, "entries of the largest forwarding table of a chip"),
		named("tag_bits", Lower, "bits of routing tag a packet"),
		named("step_slowdown", Lower, "slowdown of a step"),
		{Name: "implied_share", Words: "implied share of communication", Unit: "%", Doubted: true},
	}},
	{ofPackets, 0, []Metric{
		{Name: "over_fluid", Better: Lower, Words: "completion time over that of a fluid", Formula: overFluid},
		named("packet_slack_s", "", "bound on what packets take longer than a fluid"),
		{Name: "ranks", Words: "ranks", Of: ofCalls},
		{Name: "bound_completion_s", Words: "lower bound on the completion time", Of: ofCalls},
		named(InjectedPackets, "", "packets injected"),
		named("in_flight", "", "packets in flight at the end"),
		named("packet_hops", "", "hops of all packets"),
		named("retries", Lower, "packets sent again"),
		named("dropped_*", Lower, "packets dropped, by cause"),
		named("delivered_bytes_per_s", Higher, "delivered"),
		{Name: "p50_delay_s", Better: Lower, Words: "median packet delay", Format: Class},
		named("max_delay_s", Lower, "longest packet delay"),
		named("max_queue_packets", Lower, "longest queue of packets"),
	}},
	{ofPlans, 0, []Metric{
		named("bound_slots_round", "", "lower bound on slots, of rounds"),
		named("bound_slots_forward", "", "lower bound on slots, storing and forwarding"),
		named("bound_slots_relay", "", "lower bound on slots, relaying"),
		named("chunks", "", "chunks"),
		named("slot_s", "", "time of a slot"),
		named("largest_queue", Lower, "longest queue of chunks"),
	}},
	{ofFabric, 0, []Metric{
		named("nodes", "", "nodes"),
		named("links", "", "links"),
		{Name: "flows", Words: "flows", Of: ofPaths},
		named("links_lost", Lower, "links that are down"),
		named("bisection_links", Higher, "links across the bisection"),
		named("optical_connections", Lower, "connections through optical switches"),
		named("switch_commands", Lower, "commands to optical switches"),
		named("switch_s", Lower, "time to switch"),
	}},
	{ofRuns, 0, []Metric{
		named("bound_*", "", "lower bounds"),
		{Name: solveTime, Better: Lower, Words: "time to decide", Format: Wall},
		{Name: simulateTime, Better: Lower, Words: "time to simulate", Format: Wall},
	}},
})

// metricGroup is consecutive metrics of the table. of and since are the defaults of
// Metric.Of and Metric.Since.
type metricGroup struct {
	of      string
	since   int
	metrics []Metric
}

// named returns a metric that tables do not show.
func named(name, better, words string) Metric {
	return Metric{Name: name, Better: better, Words: words}
}

// ungrouped returns the metrics of all groups. Metrics in percent in tables are in
// percent in figures, too.
func ungrouped(groups []metricGroup) (all []Metric) {
	for _, g := range groups {
		for _, m := range g.metrics {
			m.Of, m.Since = cmp.Or(m.Of, g.of), cmp.Or(m.Since, g.since)
			if m.Format == Percent || m.Format == Gap {
				m.Unit = "%"
			}
			all = append(all, m)
		}
	}
	return all
}

// overFluid is the completion time of packets over the fluid time: the busy time of the
// bottleneck link.
func overFluid(row, _ map[string]float64) (v float64, ok bool) {
	_, packets := row[InjectedPackets]
	fluid, completion := row[FluidTime], cmp.Or(row[CompletionTime], row[IterationTime])
	return completion / fluid, packets && fluid > 0 && completion > 0
}

// boundNCT is the lower bound on the NCT that follows from the bound on the iteration
// time.
func boundNCT(row, reference map[string]float64) (float64, bool) {
	bound, ok := row["bound_makespan_s"]
	ideal, compute := reference[IterationTime], reference[ComputeTime]
	if _, has := reference[ComputeTime]; !ok || !has || ideal <= compute {
		return 0, false
	}
	return (bound - compute) / (ideal - compute), true
}
