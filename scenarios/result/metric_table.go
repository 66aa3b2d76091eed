// This file is the table of all metrics, from which tables, figures and comparisons
// take names, units and formats.

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
	InterfaceRate    = "interface_bits_per_s"
	FreeBytes        = "free_bytes"
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
	meanMessage      = "mean_message_s"
	InjectedPackets  = "injected"
	Goodput          = "goodput"
	JobsRefused      = "jobs_refused"

	// TierExposed is the metric of exposed communication, also in figures of tiers.
	TierExposed = "comm_exposed_s"
)

// BoundPrefix precedes a metric's name in the name of its lower bound.
const BoundPrefix = "bound_"

// Metrics is the table of metrics, in the order in which tables show them. named describes
// the metrics that tables do not show.
var Metrics = ungrouped([]metricGroup{
	{of: ofJobs, metrics: []Metric{
		{Name: Objective, Relative: TierExposed, Better: Lower, Words: "objective of all jobs", Axis: "objective (1 = ideal fabric)", Base: 1, Head: "objective", Format: Fixed, Main: 1, WinPhrase: "is fastest",
			BoundSubject: "the objective", FailsComparison: true, Figure: Panel{Name: "nct"}},
		{Name: "nct_max", Relative: TierExposed, Better: Lower, Words: "largest NCT of a job", Head: "largest\nNCT", Format: Fixed, ForManyJobs: true},
		{Name: "pooled_objective", Relative: TierExposed, Better: Lower, Words: "objective if jobs share their circuits", Head: "objective\npooled", Format: Fixed},
		{Name: "nct_mean", Relative: TierExposed, Better: Lower, Words: "NCT of the mean iteration on shared circuits", Format: Fixed, JobHead: "pooled", Needs: "pooled_objective"},
	}},
	{of: ofIteration, metrics: []Metric{
		{Name: "baseline_nct", Relative: TierExposed, Better: Lower, Words: "NCT without borrowed ports", Of: ofBorrowing, Head: "NCT\nbefore", Format: Fixed},
		{Name: NCT, Relative: TierExposed, Better: Lower, Words: "NCT", Axis: "NCT (1 = ideal fabric)", Base: 1, Head: "NCT", Format: Fixed, JobHead: "NCT", HiddenBy: []string{"pooled_objective"}, PlanHead: "NCT as\nplanned",
			Footnote: "NCT: exposed communication as a multiple of the ideal fabric's",
			Main:     2, FailsComparison: true, Figure: Panel{Name: "nct"}, BoundFormula: boundNCT,
			Meaning: "the communication time not hidden by computation, divided by its value on the ideal fabric"},
		{Name: "nct_first", Relative: TierExposed, Better: Lower, Words: "NCT of the first iteration", Head: "NCT\nfirst", Format: Fixed, Since: 1,
			Meaning: "the NCT of an iteration that starts with its first topology in place"},
		{Name: IterationTime, Better: Lower, Words: "iteration time", Head: "iteration\ntime", Format: Time, JobHead: "iteration", HiddenBy: []string{"pooled_objective"},
			Main: 3, WinPhrase: "is fastest", BoundSubject: "the iteration time", FailsComparison: true,
			Figure: Panel{Name: "completion", Needs: "reconfigurations", Ranked: true}},
		{Name: TierExposed, Better: Lower, Words: "exposed communication", Head: "exposed\ncomm.", Format: Time},
		{Name: "tp_exposed_s", Better: Lower, Words: "exposed time of tensor-parallel calls", Head: "exposed\nTP", Format: Time},
		{Name: "cp_exposed_s", Better: Lower, Words: "exposed time of context-parallel calls", Head: "exposed\nCP", Format: Time},
		{Name: "ep_exposed_s", Better: Lower, Words: "exposed time of expert-parallel calls", Head: "exposed\nEP", Format: Time},
		{Name: "dp_exposed_s", Better: Lower, Words: "exposed time of data-parallel calls", Head: "exposed\nDP", Format: Time},
	}},
	{of: ofPaths, metrics: []Metric{
		{Name: "hops_per_byte", Better: Lower, Words: "mean hops of a byte on shortest paths", Of: ofMappings, Unit: "hops",
			Head: "hops a byte,\ngap to bound", Format: Fixed, Secondary: "gap_hop_bytes", HiddenBy: []string{"objective"}},
		{Name: "gap_mapping", Better: Lower, Words: "gap of the iteration time or objective to the bound over all mappings", Of: ofMappings, Head: "gap to bound,\nall mappings", Format: Gap, HiddenBy: []string{"objective"}},
		{Name: averageHops, Better: Lower, Words: "mean number of hops of a path", Unit: "hops", Head: "average\nhops", Format: Fixed},
		{Name: maxLinkLoad, Better: Lower, Words: "load of the most loaded link", Head: "max link load,\ngap to bound",
			Format: Amount, Secondary: "gap", HiddenBy: []string{"max_load_over_rate"}, Main: 8, WinPhrase: "spreads the load best",
			BoundSubject: "the load of the most loaded link", FailsComparison: true, Figure: Panel{Name: "loads"}},
		{Name: maxLoadOverRate, Better: Lower, Words: "largest load of a link divided by its rate",
			Head: "load over rate,\ngap to bound", Format: Amount, Secondary: "gap", Main: 7, WinPhrase: "spreads the load best",
			BoundSubject: "the load of the most loaded link", FailsComparison: true, Figure: Panel{Name: "loads"}},
	}},
	{of: ofCircuits, since: 4, metrics: []Metric{
		{Name: MaxCircuitTime, Better: Lower, Words: "transmission time of the most loaded circuit", Head: "most loaded\ncircuit, gap", Format: Time,
			Secondary: "gap", Main: 10, WinPhrase: "spreads the load best", BoundSubject: "the load of the most loaded circuit", FailsComparison: true, Figure: Panel{Name: "loads"}},
		{Name: MaxCircuitBytes, Better: Lower, Words: "bytes on the most loaded circuit", Head: "most bytes\na circuit", Format: Count},
		{Name: MeanCircuitBytes, Better: Lower, Words: "mean bytes on a circuit", Head: "mean bytes\na circuit", Format: Count},
	}},
	{of: ofCalls, metrics: []Metric{
		{Name: "all_to_all_bytes_per_s", Better: Higher, Words: "all-to-all throughput", Of: ofPaths, Head: "all to all",
			Format: Rate, FailsComparison: true, Figure: Panel{Name: "loads", Row: 1}},
		{Name: faultRatio, Better: Higher, Words: "throughput with faults divided by the throughput without", Of: ofPaths,
			Head: "against\nno fault", Format: Percent},
		{Name: CallTime, Better: Lower, Words: "time of an all-to-all", Head: "all to all", Format: Time, FailsComparison: true},
		{Name: CompletionTime, Better: Lower, Words: "completion time", Head: "completion", Format: Time, Main: 4,
			WinPhrase: "is fastest", BoundSubject: "the completion time", FailsComparison: true,
			Figure: Panel{Name: "completion", Needs: "reconfigurations", Ranked: true}},
		{Name: GapToBound, Better: Lower, Words: "gap to bound", Of: ofRuns, Head: "gap to\nbound", Format: Gap},
		{Name: "algorithm_bytes_per_s", Better: Higher, Words: "algorithm bandwidth", Head: "algorithm\nbandwidth", Format: Rate,
			Meaning: "the data of a rank divided by the completion time"},
	}},
	{of: ofPlans, metrics: []Metric{
		{Name: "gap_completion", Better: Lower, Words: "gap of the completion time to the bound over any number of topologies",
			Head: "gap to\nbound", Format: Gap},
		{Name: "reconfigurations", Words: "reconfigurations of a plan", Head: "reconfig-\nurations", Format: Count},
		{Name: "slots", Better: Lower, Words: "slots of a plan", Head: "slots, gap\nto fewest", Format: Amount, Secondary: "gap",
			ZeroLabel: "fewest", BoundSubject: "the slots of plans of as many topologies", FailsComparison: true},
		{Name: "steps", Better: Lower, Words: "steps of a plan", Head: "steps", Format: Count},
		{Name: "buffer_chunks", Better: Lower, Words: "largest number of chunks in the buffer of a GPU", Head: "peak\nbuffer", Format: Count,
			HiddenBy: []string{"synchronised_s", "all_to_all_s"}},
		{Name: "synchronised_s", Better: Lower, Words: "completion time of packets with synchronised slots", Head: "slot\nby slot", Format: Time},
		{Name: "free_running_s", Better: Lower, Words: "completion time of packets sent as soon as links are free", Head: "as links\nare free",
			Format: Time},
	}},
	{of: ofPackets, metrics: []Metric{
		{Name: FluidTime, Better: Lower, Words: "completion time of the traffic as a fluid", Of: ofCalls, Head: "as fluid", Format: Time, Needs: "slots"},
		{Name: meanMessage, Better: Lower, Words: "mean completion time of messages", Head: "message\nmean", Format: Time, FailsComparison: true},
		{Name: "p99_message_s", Better: Lower, Words: "99th percentile of the completion times of messages", Head: "message\np99", Format: Time, FailsComparison: true},
		{Name: "resent", Better: Lower, Words: "packets sent again", Head: "sent\nagain", Format: Count, HideIfZero: true},
		{Name: MeanDelay, Better: Lower, Words: "mean packet delay", Head: "mean\ndelay", Format: Time, Main: 6,
			WinPhrase: "delivers soonest", FailsComparison: true, HiddenBy: []string{meanMessage}},
		{Name: "p99_delay_s", Better: Lower, Words: "99th percentile of packet delay", Head: "99 % within", Format: Class,
			HiddenBy: []string{"completion_s"}, FailsComparison: true},
		{Name: "accepted_load", Words: "accepted load", Head: "accepted", Format: Fixed},
		{Name: "delivered", Better: Higher, Words: "packets that arrived", Format: Count, FailsComparison: true},
		{Name: "dropped", Better: Lower, Words: "packets dropped", Head: "dropped", Format: Count, HideIfZero: true, Main: 5,
			WinPhrase: "drops the fewest packets", FailsComparison: true, HiddenBy: []string{meanMessage}},
	}},
	{of: ofTrials, metrics: []Metric{
		{Name: PortsUsed, Better: Lower, Words: "ports used", Of: ofIteration, Head: "ports\nused", Format: Count, Secondary: "port_ratio",
			FailsComparison: true},
		{Name: "evaluations", Better: Lower, Words: "topologies evaluated in the search", Of: ofIteration, Head: "topologies\ntried", Format: Count, HiddenBy: []string{"objective"}},
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
		named(TrialCount, Unrated, "number of trials"),
		named("trial_*", Lower, "further statistics of trials"),
	}},
	{of: ofIteration, metrics: []Metric{
		{Name: "break_even_s", Better: Higher, Words: "longest delay at which changing circuits in the iteration pays off", Unit: "s", Head: "break-\neven", Format: Time, ZeroLabel: "never", Since: 1,
			Meaning: "0 if changing them never pays off"},
		{Name: "nct_critical_path", Relative: TierExposed, Better: Lower, Words: "NCT of the critical path"},
		named("bound_makespan_s", Unrated, "lower bound on the iteration time"),
		named(ComputeTime, Lower, "iteration time without communication"),
		{Name: InterfaceRate, Words: "rate of the slowest network interface that the traffic uses in the reference", Since: 6},
		{Name: FreeBytes, Words: "bytes of transfers that use no network interface in the reference, because both ends are in one pod", Since: 6},
		{Name: "max_interface_bytes", Better: Lower, Words: "bytes in one direction on the most loaded network interface", Of: ofCircuits, Since: 4},
		{Name: "bound_max_circuit_s", Words: "lower bound on the transmission time of the most loaded circuit", Of: ofCircuits, Since: 4},
		{Name: "port_ratio", Better: Lower, Words: "share of the ports that is used", Format: Percent},
		{Name: "bound_ports", Words: "lower bound on the used ports",
			Meaning: "the ports that every equally fast topology needs; absent if heterogeneous replicas are decided by kind, because no search covers all topologies then"},
		named("tasks", Lower, "tasks of the task graph"),
		named("transfers", Lower, "transfers between pods"),
		named("exchange_exposed_s", Lower, "exposed time of all-to-alls"),
		named("hidden_s", Higher, "reconfiguration time hidden behind computation"),
		named("tier*", Unrated, "bytes carried by a tier of a machine, and the fraction of time in which the tier is busy"),
		named("*_exposed_s", Lower, "additional time because of the traffic of a tier"),
		named("*_doubled_s", Lower, "iteration or completion time if the links of a tier had twice the rate"),
	}},
	{of: ofBorrowing, metrics: []Metric{
		named("baseline_makespan_s", Lower, "iteration time without borrowed ports"),
		named(SurplusPorts, Unrated, "ports left unused by the lending job"),
		named("lender_*", Unrated, "metrics of the job that lends ports"),
		{Name: "milp_*", Better: Lower, Words: "statistics reported by a solver about its model", Of: ofSolvers},
	}},
	{of: ofFleets, since: 2, metrics: []Metric{
		{Name: Goodput, Better: Higher, Words: "goodput", Head: "goodput,\ngap to bound", Format: Percent, Secondary: "gap",
			Main: 9, WinPhrase: "does most work", BoundSubject: "goodput", FailsComparison: true, Figure: Panel{Name: "fleet"}, Whole: ChipTime, Part: "work that is kept",
			Meaning: "the fraction of chip-time spent on work that is kept, at full speed"},
		{Name: "utilisation", Better: Higher, Words: "utilisation", Head: "utilis-\nation", Format: Percent},
		{Name: "queue_mean_s", Better: Lower, Words: "mean time in the queue", Head: "queue\nmean", Format: Time, FailsComparison: true,
			Figure: Panel{Name: "fleet", Row: 1}},
		{Name: "queue_p99_s", Better: Lower, Words: "99th percentile of the time in the queue", Head: "queue\np99", Format: Time},
		{Name: "interrupted_share", Better: Lower, Words: "jobs interrupted by a failure", Head: "jobs\ninterrupted", Format: Percent},
		{Name: "ft_share", Words: "running jobs routed around a failed switch", Head: "jobs\nrerouted", Format: Percent},
		{Name: JobsRefused, Better: Lower, Words: "jobs that can never start, because they do not fit into an empty pod and leave its reserve free", Head: "jobs\nrefused", Format: Count, HideIfZero: true},
		{Name: "xconnects_per_day", Words: "optical connections of all slices per day", Unit: "1/day", Head: "connections\na day", Format: Count},
		{Name: "xconnect_changes_per_day", Words: "new optical connections per day", Unit: "1/day"},
		{Name: "goodput_of_healthy", Better: Higher, Words: "goodput of chips that are up", Format: Percent},
		{Name: "bound_goodput", Words: "upper bound on goodput", Format: Percent},
		named("queue_p50_s", Lower, "median time in the queue"),
		named("queue_p90_s", Lower, "90th percentile of the time in the queue"),
		{Name: "system_availability", Better: Higher, Words: "time with at most one switch down", Format: Percent},
	}},
	{of: ofFleets, since: 3, metrics: []Metric{
		{Name: "fragmentation", Better: Lower, Words: "free cubes outside the largest slice that fits", Format: Percent},
		{Name: "availability", Better: Higher, Words: "time in which the slice fits into a pod without jobs", Format: Percent},
		{Name: "expected_availability", Words: "availability of the slice by a closed form", Format: Percent},
		{Name: "availability_fixed", Better: Higher, Words: "time in which a fixed set of cubes for the slice is up", Format: Percent},
		{Name: "expected_availability_fixed", Words: "time in which a fixed set of cubes for the slice is up, by a closed form", Format: Percent},
		{Name: "slice_goodput", Better: Higher, Words: "chips in as many slices as fit into a pod without jobs", Format: Percent},
		{Name: "expected_slice_goodput", Words: "chips in as many slices as fit into a pod, by a closed form", Format: Percent},
		{Name: "machine_availability", Words: "time in which a machine is up", Format: Percent},
		named("machine_failures", Unrated, "failures of machines"),
		named("machine_repairs", Unrated, "repairs of machines"),
		named("link_failures", Unrated, "failures of optical links"),
		named("link_repairs", Unrated, "repairs of optical links"),
		named("ocs_failures", Unrated, "failures of optical switches"),
		named("ocs_repairs", Unrated, "repairs of optical switches"),
	}},
	{of: ofFleets, since: 2, metrics: []Metric{
		{Name: "share_*", Words: "chip-time by use", Format: Percent, Whole: ChipTime},
		named("jobs", Unrated, "jobs submitted"),
		{Name: "starts", Words: "jobs started", Since: 3},
		named("jobs_done", Higher, "jobs that ended"),
		named("interrupts", Lower, "interruptions by failures"),
		named("evictions", Lower, "evictions for maintenance"),
		named("preflight_failures", Lower, "starts stopped by preflight tests"),
		named("takeovers", Unrated, "standby cubes that replaced a failed cube"),
	}},
	{of: ofFleets, since: 4, metrics: []Metric{
		named("preemptions", Lower, "preemptions by jobs of higher priority"),
		named("migrations", Unrated, "jobs moved to free cubes, or to leave routes around a switch"),
		named("turnaround_mean_s", Lower, "mean time from submission to the end of a job"),
		named("bound_turnaround_s", Unrated, "lower bound on the mean time from submission to the end of a job"),
		{Name: "gap_turnaround", Better: Lower, Words: "gap of the mean time from submission to the end of a job to its bound", Format: Gap},
		{Name: "efficiency", Better: Higher, Words: "fraction of the jobs' chip-time spent on work that is kept", Format: Percent},
		{Name: "expected_efficiency", Words: "fraction of the jobs' chip-time left by checkpoints and failures, by a closed form without waiting", Format: Percent},
		named("slices_fit", Higher, "mean number of additional slices of 8 cubes that fit"),
		named("bound_slices_fit", Unrated, "mean maximum of additional slices of 8 cubes that fit as boxes of a static grid"),
		named("spares_newsvendor", Unrated, "spare cubes of a pod by the newsvendor rule"),
		{Name: "work_done", Better: Higher, Words: "goodput with work counted as on the requested slices", Format: Percent},
		{Name: "se_*", Words: "standard error of a metric that is a mean over seeds", Since: 6},
	}},
	{of: ofJobs, metrics: []Metric{
		named("pooled_*", Lower, "metrics of jobs that share their circuits"),
		named("iterations", Unrated, "iterations measured on shared circuits"),
		named("iteration_mean_s", Lower, "mean iteration time on shared circuits"),
		named("iteration_max_s", Lower, "longest iteration on shared circuits"),
		named("drift", Unrated, "drift of a job's iterations relative to the cycle of the first job"),
		named("bound_objective", Unrated, "lower bound on the objective"),
	}},
	{of: ofMappings, metrics: []Metric{
		{Name: "sum_hops", Words: "sum of the hops of all ordered pairs of nodes", Of: ofPaths},
		{Name: "diameter", Better: Lower, Words: "diameter of the network", Of: ofPaths, Unit: "hops"},
		named("hop_bytes", Lower, "bytes times hops of shortest paths, summed over transfers"),
		named("bound_hop_bytes", Unrated, "lower bound on bytes times hops"),
		{Name: "gap_hop_bytes", Better: Lower, Words: "gap of bytes times hops to its bound", Format: Gap},
		named("mapping_evaluations", Unrated, "exchanges of ranks evaluated; in pods, placements with allocated circuits"),
		named("inter_pod_bytes", Lower, "bytes between pods"),
		named("bound_mapping", Unrated, "lower bound on the objective over all mappings"),
		named("bound_mapping_s", Unrated, "lower bound on the iteration time over all mappings"),
	}},
	{of: ofPaths, metrics: []Metric{
		named("bound_max_link_load", Unrated, "lower bound on the largest load of a link"),
		named("unconstrained_max_link_load", Lower, "largest load of a link without regard to deadlocks"),
		named("bound_max_load_over_rate", Unrated, "lower bound on the largest load of a link divided by its rate"),
		named("unconstrained_max_load_over_rate", Lower, "largest load of a link divided by its rate, without regard to deadlocks"),
		named("nearest_neighbour_max_load", Lower, "largest load of a link under nearest-neighbour traffic"),
		named("channels", Unrated, "virtual channels used"),
		named("canonical_sources", Unrated, "sources whose paths are searched; symmetry gives the other paths"),
		named("paths", Lower, "paths of all pairs of nodes"),
		named("wild_pairs", Unrated, "pairs of nodes with a wild hop in their path"),
		named("table_entries", Lower, "entries of forwarding tables"),
		named("table_entries_chip", Lower, "entries of the largest forwarding table of a chip"),
		named("tag_bits", Lower, "bits of the routing tag of a packet"),
		named("step_slowdown", Lower, "slowdown of a training step by faults"),
		{Name: "implied_share", Words: "share of the collective in a step, as implied by a measured slowdown", Unit: "%", Doubted: true},
	}},
	{of: ofPackets, metrics: []Metric{
		{Name: "over_fluid", Better: Lower, Words: "completion time divided by the time as a fluid", Formula: overFluid},
		named("packet_slack_s", Unrated, "bound on the additional time of packets over a fluid"),
		{Name: "ranks", Words: "ranks of the collective call", Of: ofCalls},
		{Name: "bound_completion_s", Words: "lower bound on the completion time", Of: ofCalls},
		named(InjectedPackets, Unrated, "packets injected"),
		named("in_flight", Unrated, "packets in flight at the end"),
		named("packet_hops", Unrated, "hops of all packets"),
		named("retries", Lower, "retransmissions of packets"),
		named("dropped_*", Lower, "packets dropped, by cause"),
		named("delivered_bytes_per_s", Higher, "rate at which bytes arrive"),
		{Name: "p50_delay_s", Better: Lower, Words: "median packet delay", Format: Class},
		named("max_delay_s", Lower, "longest packet delay"),
		named("max_queue_packets", Lower, "longest queue of packets"),
		named("p50_message_s", Lower, "median completion time of messages"),
		named("max_message_s", Lower, "longest completion time of a message"),
		named("mean_slowdown", Lower, "mean completion time of a message divided by its time alone"),
		named("p99_slowdown", Lower, "99th percentile of that ratio"),
		named("fairness", Higher, "Jain's index of the rates of messages, relative to their rates alone"),
		named("trimmed", Lower, "packets cut to their header"),
		named("marked", Lower, "packets marked by queues"),
		named("pauses", Lower, "pauses of links"),
	}},
	{of: ofRuns, since: 5, metrics: []Metric{
		named("tolerance_delay_s", Unrated, "with engine.tolerance, the largest delay of a start"),
		named("tolerance_bytes", Unrated, "with engine.tolerance, the largest number of bytes for which a transfer holds its rate after its end"),
		{Name: "tolerance_load", Words: "with engine.tolerance, the largest share of these bytes in the load of a link", Format: Percent},
	}},
	{of: ofPlans, metrics: []Metric{
		named("bound_slots_round", Unrated, "lower bound on the slots of a plan in rounds"),
		named("bound_slots_forward", Unrated, "lower bound on the slots of a plan that stores chunks"),
		named("bound_slots_relay", Unrated, "lower bound on the slots of a plan that relays chunks"),
		named("chunks", Unrated, "chunks of a plan"),
		named("slot_s", Unrated, "duration of a slot"),
		named("largest_queue", Lower, "longest queue of chunks"),
	}},
	{of: ofFabric, metrics: []Metric{
		named("nodes", Unrated, "nodes of the fabric"),
		named("links", Unrated, "links of the fabric"),
		{Name: "flows", Words: "flows of the traffic", Of: ofPaths},
		named("links_lost", Lower, "links that are down"),
		named("bisection_links", Higher, "links across the bisection"),
		named("optical_connections", Lower, "connections through optical switches"),
		named("switch_commands", Lower, "commands to optical switches"),
		named("switch_s", Lower, "time to make the connections of optical switches"),
	}},
	{of: ofRuns, metrics: []Metric{
		named("bound_*", Unrated, "lower bound on the metric whose name follows"),
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

// named returns a metric that tables do not show. better is Lower, Higher or Unrated.
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
// time. The NCT is the communication that computation does not hide, as a multiple of its
// value on the ideal fabric, the reference.
func boundNCT(row, reference map[string]float64) (float64, bool) {
	bound, ok := row["bound_makespan_s"]
	ideal, compute := reference[IterationTime], reference[ComputeTime]
	if _, has := reference[ComputeTime]; !ok || !has || ideal <= compute {
		return 0, false
	}
	return (bound - compute) / (ideal - compute), true
}
