package result

import "cmp"

// Whatever has metrics, as Metric.Of says it.
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

// ChipTime is the whole that fleets divide: the time of all chips.
const ChipTime = "chip-time"

// Names of metrics that the package reads itself.
const (
	gapName          = "gap"
	iterationTime    = "makespan_s"
	completion       = "completion_s"
	computeTime      = "compute_makespan_s"
	trialCount       = "replay_plays"
	trialStalls      = "replay_stalled"
	trialNCT         = "replay_nct_mean"
	trialTime        = "replay_makespan_mean_s"
	solveTime        = "solve_s"
	simulateTime     = "play_s"
	callTime         = "all_to_all_s"
	objective        = "objective"
	nctName          = "nct"
	portsName        = "ports"
	surplusPorts     = "surplus_ports"
	maxCircuitTime   = "max_circuit_s"
	maxCircuitBytes  = "max_circuit_bytes"
	meanCircuitBytes = "mean_circuit_bytes"
	fluidTime        = "fluid_s"
	maxLinkLoad      = "max_link_load"
	maxLoadOverRate  = "max_load_over_rate"
	faultRatio       = "fault_ratio"
	averageHops      = "average_hops"
	meanDelay        = "mean_delay_s"
	injectedPackets  = "injected"
	keptShare        = "goodput"

	// TierExposed is the metric of the time that a tier of a machine exposes.
	TierExposed = "comm_exposed_s"
)

// boundPrefix begins the name of the lower bound on a metric.
const boundPrefix = "bound_"

// Metrics is the table of metrics, in the order in which tables show them.
var Metrics = []Metric{
	{Name: objective, Better: Lower, Words: "objective", Of: ofJobs, Axis: "objective (1 = ideal fabric)", Base: 1, Head: "objective", Format: Fixed, Main: 1, Wins: "is fastest",
		Bounded: "the objective", Judged: true, Figure: Panel{Name: "nct"}},
	{Name: "nct_max", Better: Lower, Words: "largest NCT of a job", Of: ofJobs, Head: "largest\nNCT", Format: Fixed, Many: true},
	{Name: "pooled_objective", Better: Lower, Words: "objective where jobs share their circuits", Of: ofJobs, Head: "objective\npooled", Format: Fixed},
	{Name: "nct_mean", Better: Lower, Words: "NCT of the mean iteration on shared circuits", Of: ofJobs, Format: Fixed, Job: "pooled", Needs: "pooled_objective"},
	{Name: "nct_before", Relative: TierExposed, Better: Lower, Words: "NCT without borrowed ports", Of: ofBorrowing, Head: "NCT\nbefore", Format: Fixed},
	{Name: nctName, Relative: TierExposed, Better: Lower, Words: "NCT", Of: ofIteration, Axis: "NCT (1 = ideal fabric)", Base: 1, Head: "NCT", Format: Fixed, Job: "NCT", Unless: []string{"pooled_objective"}, Planned: "NCT as\nplanned",
		Below: "NCT: exposed communication as a multiple of the ideal fabric's",
		Main:  2, Judged: true, Figure: Panel{Name: "nct"}, Bound: boundNCT,
		Means: "the communication time that computing does not hide, over that on the ideal fabric"},
	{Name: "nct_first", Relative: TierExposed, Better: Lower, Words: "NCT of the first iteration", Of: ofIteration, Head: "NCT\nfirst", Format: Fixed, Since: 1,
		Means: "that of an iteration that finds the topology of its beginning in place"},
	{Name: iterationTime, Better: Lower, Words: "iteration time", Of: ofIteration, Head: "iteration\ntime", Format: Time, Job: "iteration", Unless: []string{"pooled_objective"},
		Main: 3, Wins: "is fastest", Bounded: "the iteration time", Judged: true,
		Figure: Panel{Name: "completion", Needs: "reconfigurations", Rank: true}},
	{Name: TierExposed, Better: Lower, Words: "exposed communication", Of: ofIteration, Head: "exposed\ncomm.", Format: Time},
	{Name: "tp_exposed_s", Better: Lower, Words: "exposed time of tensor-parallel calls", Of: ofIteration, Head: "exposed\nTP", Format: Time},
	{Name: "cp_exposed_s", Better: Lower, Words: "exposed time of context-parallel calls", Of: ofIteration, Head: "exposed\nCP", Format: Time},
	{Name: "ep_exposed_s", Better: Lower, Words: "exposed time of expert-parallel calls", Of: ofIteration, Head: "exposed\nEP", Format: Time},
	{Name: "dp_exposed_s", Better: Lower, Words: "exposed time of data-parallel calls", Of: ofIteration, Head: "exposed\nDP", Format: Time},
	{Name: "hops_per_byte", Better: Lower, Words: "hops of shortest paths of a byte", Of: ofMappings, Unit: "hops",
		Head: "hops a byte,\ngap to bound", Format: Fixed, Beside: "gap_hop_bytes", Unless: []string{"objective"}},
	{Name: "gap_mapping", Better: Lower, Words: "gap to bound on the iteration time or objective, all mappings", Of: ofMappings, Unit: "%", Head: "gap to bound,\nall mappings", Format: Gap, Unless: []string{"objective"}},
	{Name: averageHops, Better: Lower, Words: "average distance", Of: ofPaths, Unit: "hops", Head: "average\nhops", Format: Fixed},
	{Name: maxLinkLoad, Better: Lower, Words: "load of the most loaded link", Of: ofPaths, Head: "max link load,\ngap to bound",
		Format: Amount, Beside: "gap", Unless: []string{"max_load_over_rate"}, Main: 8, Wins: "spreads the load best",
		Bounded: "the load of the most loaded link", Judged: true, Figure: Panel{Name: "loads"}},
	{Name: maxLoadOverRate, Better: Lower, Words: "largest load of a link over its rate", Of: ofPaths,
		Head: "load over rate,\ngap to bound", Format: Amount, Beside: "gap", Main: 7, Wins: "spreads the load best",
		Bounded: "the load of the most loaded link", Judged: true, Figure: Panel{Name: "loads"}},
	{Name: maxCircuitTime, Better: Lower, Words: "time that the most loaded circuit needs", Of: ofCircuits, Head: "most loaded\ncircuit, gap", Format: Time,
		Beside: "gap", Main: 10, Wins: "spreads the load best", Bounded: "the load of the most loaded circuit", Judged: true, Figure: Panel{Name: "loads"}, Since: 4},
	{Name: maxCircuitBytes, Better: Lower, Words: "bytes of the most loaded circuit", Of: ofCircuits, Head: "most bytes\na circuit", Format: Count, Since: 4},
	{Name: meanCircuitBytes, Better: Lower, Words: "bytes of a circuit, on average", Of: ofCircuits, Head: "mean bytes\na circuit", Format: Count, Since: 4},
	{Name: "all_to_all_bytes_per_s", Better: Higher, Words: "all-to-all throughput", Of: ofPaths, Head: "all to all",
		Format: Rate, Judged: true, Figure: Panel{Name: "loads", Row: 1}},
	{Name: faultRatio, Better: Higher, Words: "throughput under the fault, over that without", Of: ofPaths, Unit: "%",
		Head: "against\nno fault", Format: Percent},
	{Name: callTime, Better: Lower, Words: "time of an all-to-all", Of: ofCalls, Head: "all to all", Format: Time, Judged: true},
	{Name: completion, Better: Lower, Words: "completion time", Of: ofCalls, Head: "completion", Format: Time, Main: 4,
		Wins: "is fastest", Bounded: "the completion time", Judged: true,
		Figure: Panel{Name: "completion", Needs: "reconfigurations", Rank: true}},
	{Name: gapName, Better: Lower, Words: "gap to bound", Of: ofRuns, Unit: "%", Head: "gap to\nbound", Format: Gap},
	{Name: "algorithm_bytes_per_s", Better: Higher, Words: "algorithm bandwidth", Of: ofCalls, Head: "algorithm\nbandwidth", Format: Rate,
		Means: "what a rank has, puts in or is left with, over the completion time"},
	{Name: "gap_completion", Better: Lower, Words: "gap to bound, any number of topologies", Of: ofPlans, Unit: "%",
		Head: "gap to\nbound", Format: Gap},
	{Name: "reconfigurations", Words: "reconfigurations", Of: ofPlans, Head: "reconfig-\nurations", Format: Count},
	{Name: "slots", Better: Lower, Words: "slots", Of: ofPlans, Head: "slots, gap\nto fewest", Format: Amount, Beside: "gap",
		Zero: "fewest", Bounded: "the slots of plans of as many topologies", Judged: true},
	{Name: "steps", Better: Lower, Words: "steps", Of: ofPlans, Head: "steps", Format: Count},
	{Name: "buffer_chunks", Better: Lower, Words: "chunks that a GPU holds", Of: ofPlans, Head: "peak\nbuffer", Format: Count,
		Unless: []string{"synchronised_s", "all_to_all_s"}},
	{Name: "synchronised_s", Better: Lower, Words: "time of packets, slot by slot", Of: ofPlans, Head: "slot\nby slot", Format: Time},
	{Name: "free_running_s", Better: Lower, Words: "time of packets, as links are free", Of: ofPlans, Head: "as links\nare free",
		Format: Time},
	{Name: fluidTime, Better: Lower, Words: "time of a fluid", Of: ofCalls, Head: "as fluid", Format: Time, Needs: "slots"},
	{Name: meanDelay, Better: Lower, Words: "mean packet delay", Of: ofPackets, Head: "mean\ndelay", Format: Time, Main: 6,
		Wins: "delivers soonest", Judged: true},
	{Name: "p99_delay_s", Better: Lower, Words: "99th percentile of packet delay", Of: ofPackets, Head: "99 % within", Format: Class,
		Unless: []string{"completion_s"}, Judged: true},
	{Name: "accepted_load", Words: "accepted load", Of: ofPackets, Head: "accepted", Format: Fixed},
	{Name: "delivered", Better: Higher, Words: "packets delivered", Of: ofPackets, Format: Count, Judged: true},
	{Name: "dropped", Better: Lower, Words: "packets dropped", Of: ofPackets, Head: "dropped", Format: Count, Rare: true, Main: 5,
		Wins: "drops the fewest packets", Judged: true},
	{Name: portsName, Better: Lower, Words: "ports used", Of: ofIteration, Head: "ports\nused", Format: Count, Beside: "port_ratio",
		Judged: true},
	{Name: "evaluations", Better: Lower, Words: "topologies tried", Of: ofIteration, Head: "topologies\ntried", Format: Count, Unless: []string{"objective"}},

	{Name: trialNCT, Relative: TierExposed, Better: Lower, Words: "mean NCT of trials", Of: ofTrials, Table: "replay", Head: "NCT\nmean",
		Format: Fixed, Judged: true},
	{Name: "replay_nct_p50", Relative: TierExposed, Better: Lower, Words: "median NCT of trials", Of: ofTrials, Table: "replay", Head: "NCT\nmedian",
		Format: Fixed},
	{Name: "replay_nct_p95", Relative: TierExposed, Better: Lower, Words: "95th percentile of the NCT of trials", Of: ofTrials, Table: "replay",
		Head: "NCT\np95", Format: Fixed},
	{Name: "replay_nct_p99", Relative: TierExposed, Better: Lower, Words: "99th percentile of the NCT of trials", Of: ofTrials, Table: "replay",
		Head: "NCT\np99", Format: Fixed},
	{Name: "replay_nct_max", Relative: TierExposed, Better: Lower, Words: "largest NCT of trials", Of: ofTrials, Table: "replay", Head: "NCT\nmost",
		Format: Fixed},
	{Name: trialTime, Better: Lower, Words: "mean iteration time of trials", Of: ofTrials, Table: "replay",
		Head: "iteration\nmean", Format: Time, Judged: true},
	{Name: trialStalls, Better: Lower, Words: "trials that stalled", Of: ofTrials, Table: "replay", Head: "trials\nstalled",
		Format: Count, Judged: true},
	{Name: "replay_makespan_p95_s", Better: Lower, Words: "95th percentile of the iteration time of trials", Of: ofTrials},
	{Name: trialCount, Words: "trials", Of: ofTrials},
	{Name: "replay_*", Better: Lower, Words: "other figures of trials", Of: ofTrials},

	{Name: "break_even_s", Better: Higher, Words: "longest delay at which moving circuits pays", Of: ofIteration, Unit: "s", Head: "break-\neven", Format: Time, Since: 1},
	{Name: "nct_critical_path", Relative: TierExposed, Better: Lower, Words: "NCT of the critical path", Of: ofIteration},
	{Name: "bound_makespan_s", Words: "lower bound on the iteration time", Of: ofIteration},
	{Name: computeTime, Better: Lower, Words: "compute time", Of: ofIteration},
	{Name: "max_interface_bytes", Better: Lower, Words: "bytes of the most loaded network interface, one way", Of: ofCircuits, Since: 4},
	{Name: "bound_max_circuit_s", Words: "lower bound on the time that the most loaded circuit needs", Of: ofCircuits, Since: 4},
	{Name: "port_ratio", Better: Lower, Words: "ports used", Of: ofIteration, Unit: "%", Format: Percent},
	{Name: "bound_ports", Words: "lower bound on ports", Of: ofIteration,
		Means: "what every topology needs that is as fast; missing where heterogeneous replicas are decided by kind, of which no search looks through all topologies"},
	{Name: "tasks", Better: Lower, Words: "tasks of the graph", Of: ofIteration},
	{Name: "transfers", Better: Lower, Words: "transfers between pods", Of: ofIteration},
	{Name: "exchange_exposed_s", Better: Lower, Words: "exposed time of all-to-alls", Of: ofIteration},
	{Name: "hidden_s", Better: Higher, Words: "reconfigurations hidden behind computing", Of: ofIteration},
	{Name: "tier*", Words: "bytes that a tier of a machine carries, and the part of the time for which it does", Of: ofIteration},
	{Name: "*_exposed_s", Better: Lower, Words: "how much longer it takes for what a tier carries", Of: ofIteration},
	{Name: "*_doubled_s", Better: Lower, Words: "the time with links of twice the rate in a tier", Of: ofIteration},
	{Name: "before_makespan_s", Better: Lower, Words: "iteration time without borrowed ports", Of: ofBorrowing},
	{Name: surplusPorts, Words: "ports left by the lending job", Of: ofBorrowing},
	{Name: "donor_*", Words: "figures of the port-lending job", Of: ofBorrowing},
	{Name: "milp_*", Better: Lower, Words: "what a solver says of its model", Of: ofSolvers},

	{Name: keptShare, Better: Higher, Words: "goodput", Of: ofFleets, Unit: "%", Head: "goodput,\ngap to bound", Format: Percent, Beside: "gap",
		Main: 9, Wins: "does most work", Bounded: "goodput", Judged: true, Figure: Panel{Name: "fleet"}, Since: 2, Whole: ChipTime, Part: "work that is kept",
		Means: "the share of chip-time that is work which is kept, at full speed"},
	{Name: "utilisation", Better: Higher, Words: "utilisation", Of: ofFleets, Unit: "%", Head: "utilis-\nation", Format: Percent, Since: 2},
	{Name: "queue_mean_s", Better: Lower, Words: "mean time in the queue", Of: ofFleets, Head: "queue\nmean", Format: Time, Judged: true,
		Figure: Panel{Name: "fleet", Row: 1}, Since: 2},
	{Name: "queue_p99_s", Better: Lower, Words: "99th percentile of the time in the queue", Of: ofFleets, Head: "queue\np99", Format: Time, Since: 2},
	{Name: "interrupted_share", Better: Lower, Words: "jobs that a failure interrupts", Of: ofFleets, Unit: "%", Head: "jobs\ninterrupted", Format: Percent, Since: 2},
	{Name: "ft_share", Words: "jobs on routes round a switch that is down", Of: ofFleets, Unit: "%", Head: "jobs\nrerouted", Format: Percent, Since: 2},
	{Name: "jobs_refused", Better: Lower, Words: "jobs that no empty pod has room for", Of: ofFleets, Head: "jobs\nrefused", Format: Count, Rare: true, Since: 2},
	{Name: "xconnects_per_day", Words: "connections of slices a day", Of: ofFleets, Unit: "1/day", Head: "connections\na day", Format: Count, Since: 2},
	{Name: "xconnect_changes_per_day", Words: "connections made a day", Of: ofFleets, Unit: "1/day", Since: 2},
	{Name: "goodput_of_healthy", Better: Higher, Words: "goodput of chips that are up", Of: ofFleets, Unit: "%", Format: Percent, Since: 2},
	{Name: "bound_goodput", Words: "upper bound on goodput", Of: ofFleets, Unit: "%", Format: Percent, Since: 2},
	{Name: "queue_p50_s", Better: Lower, Words: "median time in the queue", Of: ofFleets, Since: 2},
	{Name: "queue_p90_s", Better: Lower, Words: "90th percentile of the time in the queue", Of: ofFleets, Since: 2},
	{Name: "system_availability", Better: Higher, Words: "time with at most one switch down", Of: ofFleets, Unit: "%", Format: Percent, Since: 2},
	{Name: "fragmentation", Better: Lower, Words: "cubes that are free outside the largest slice that fits", Of: ofFleets, Unit: "%", Format: Percent, Since: 3},
	{Name: "availability", Better: Higher, Words: "time with room for the slice in a pod without jobs", Of: ofFleets, Unit: "%", Format: Percent, Since: 3},
	{Name: "expected_availability", Words: "availability of the slice by the closed form", Of: ofFleets, Unit: "%", Format: Percent, Since: 3},
	{Name: "availability_fixed", Better: Higher, Words: "time with the slice's own cubes up, were it tied to them", Of: ofFleets, Unit: "%", Format: Percent, Since: 3},
	{Name: "expected_availability_fixed", Words: "time with its own cubes up, by the closed form", Of: ofFleets, Unit: "%", Format: Percent, Since: 3},
	{Name: "slice_goodput", Better: Higher, Words: "chips in as many slices as a pod has cubes for", Of: ofFleets, Unit: "%", Format: Percent, Since: 3},
	{Name: "expected_slice_goodput", Words: "goodput of slices by the closed form", Of: ofFleets, Unit: "%", Format: Percent, Since: 3},
	{Name: "machine_availability", Words: "time that a machine is available", Of: ofFleets, Unit: "%", Format: Percent, Since: 3},
	{Name: "machine_failures", Words: "machines that failed", Of: ofFleets, Since: 3},
	{Name: "machine_repairs", Words: "machines that were repaired", Of: ofFleets, Since: 3},
	{Name: "link_failures", Words: "optical links that failed", Of: ofFleets, Since: 3},
	{Name: "link_repairs", Words: "optical links that were repaired", Of: ofFleets, Since: 3},
	{Name: "ocs_failures", Words: "optical switches that failed", Of: ofFleets, Since: 3},
	{Name: "ocs_repairs", Words: "optical switches that were repaired", Of: ofFleets, Since: 3},
	{Name: "share_*", Words: "chip-time by use", Of: ofFleets, Unit: "%", Format: Percent, Since: 2, Whole: ChipTime},
	{Name: "jobs", Words: "jobs submitted", Of: ofFleets, Since: 2},
	{Name: "starts", Words: "jobs started", Of: ofFleets, Since: 3},
	{Name: "jobs_done", Better: Higher, Words: "jobs that ended", Of: ofFleets, Since: 2},
	{Name: "interrupts", Better: Lower, Words: "interruptions by failures", Of: ofFleets, Since: 2},
	{Name: "evictions", Better: Lower, Words: "evictions for maintenance", Of: ofFleets, Since: 2},
	{Name: "preflight_failures", Better: Lower, Words: "starts that preflight stopped", Of: ofFleets, Since: 2},
	{Name: "takeovers", Words: "cubes that took over", Of: ofFleets, Since: 2},
	{Name: "preemptions", Better: Lower, Words: "jobs that made way for those of higher priority", Of: ofFleets, Since: 4},
	{Name: "migrations", Words: "jobs moved to make room, or off routes round a switch", Of: ofFleets, Since: 4},
	{Name: "turnaround_mean_s", Better: Lower, Words: "mean time from submission to the end", Of: ofFleets, Since: 4},
	{Name: "bound_turnaround_s", Words: "lower bound on the mean time from submission to the end", Of: ofFleets, Since: 4},
	{Name: "gap_turnaround", Better: Lower, Words: "gap to bound, mean time from submission to the end", Of: ofFleets, Unit: "%", Format: Gap, Since: 4},
	{Name: "efficiency", Better: Higher, Words: "share of jobs' chip-time that is work which is kept", Of: ofFleets, Unit: "%", Format: Percent, Since: 4},
	{Name: "expected_efficiency", Words: "the same as checkpoints and failures leave it by closed form, without waiting", Of: ofFleets, Unit: "%", Format: Percent, Since: 4},
	{Name: "slices_fit", Better: Higher, Words: "more slices of 8 cubes that fit, on average", Of: ofFleets, Since: 4},
	{Name: "bound_slices_fit", Words: "the most of them that fit as boxes of a grid without switches, by exact search", Of: ofFleets, Since: 4},
	{Name: "spares_newsvendor", Words: "spare cubes of a pod that a newsvendor would hold", Of: ofFleets, Since: 4},
	{Name: "work_done", Better: Higher, Words: "goodput, work counted as the slices that were asked for would take", Of: ofFleets, Unit: "%", Format: Percent, Since: 4},

	{Name: "pooled_*", Better: Lower, Words: "the same where jobs share their circuits", Of: ofJobs},
	{Name: "iterations", Words: "iterations measured on shared circuits", Of: ofJobs},
	{Name: "iteration_mean_s", Better: Lower, Words: "mean iteration time on shared circuits", Of: ofJobs},
	{Name: "iteration_max_s", Better: Lower, Words: "longest iteration on shared circuits", Of: ofJobs},
	{Name: "drift", Words: "drift of a job's iterations in the first job's cycle", Of: ofJobs},
	{Name: "bound_objective", Words: "lower bound on the objective", Of: ofJobs},

	{Name: "sum_hops", Words: "hops of all ordered pairs", Of: ofPaths},
	{Name: "diameter", Better: Lower, Words: "diameter", Of: ofPaths, Unit: "hops"},
	{Name: "hop_bytes", Better: Lower, Words: "bytes times hops of shortest paths, of all transfers", Of: ofMappings},
	{Name: "bound_hop_bytes", Words: "lower bound on bytes times hops", Of: ofMappings},
	{Name: "gap_hop_bytes", Better: Lower, Words: "gap to bound, bytes times hops", Of: ofMappings, Unit: "%", Format: Gap},
	{Name: "mapping_evaluations", Words: "exchanges of ranks looked at; in pods placements whose circuits were allocated", Of: ofMappings},
	{Name: "inter_pod_bytes", Better: Lower, Words: "bytes between pods", Of: ofMappings},
	{Name: "bound_mapping", Words: "lower bound on the objective, all mappings", Of: ofMappings},
	{Name: "bound_mapping_s", Words: "lower bound on the iteration time, all mappings", Of: ofMappings},
	{Name: "bound_max_link_load", Words: "lower bound on the largest load of a link", Of: ofPaths},
	{Name: "unconstrained_max_link_load", Better: Lower, Words: "largest load of a link, cyclic routes allowed", Of: ofPaths},
	{Name: "bound_max_load_over_rate", Words: "lower bound on the largest load over rate", Of: ofPaths},
	{Name: "unconstrained_max_load_over_rate", Better: Lower, Words: "largest load over rate, cyclic routes allowed", Of: ofPaths},
	{Name: "nearest_neighbour_max_load", Better: Lower, Words: "largest load of a link, nearest neighbours", Of: ofPaths},
	{Name: "channels", Words: "virtual channels used", Of: ofPaths},
	{Name: "canonical_sources", Words: "canonical sources", Of: ofPaths},
	{Name: "walks", Better: Lower, Words: "paths", Of: ofPaths},
	{Name: "wild_pairs", Words: "pairs with a detour", Of: ofPaths},
	{Name: "table_entries", Better: Lower, Words: "entries of forwarding tables", Of: ofPaths},
	{Name: "table_entries_chip", Better: Lower, Words: "entries of the largest forwarding table of a chip", Of: ofPaths},
	{Name: "tag_bits", Better: Lower, Words: "bits of routing tag a packet", Of: ofPaths},
	{Name: "step_slowdown", Better: Lower, Words: "slowdown of a step", Of: ofPaths},
	{Name: "implied_share", Words: "implied share of communication", Of: ofPaths, Unit: "%", Doubted: true},
	{Name: "over_fluid", Better: Lower, Words: "completion time over that of a fluid", Of: ofPackets, From: overFluid},
	{Name: "packet_slack_s", Words: "bound on what packets take longer than a fluid", Of: ofPackets},
	{Name: "ranks", Words: "ranks", Of: ofCalls},
	{Name: "bound_completion_s", Words: "lower bound on the completion time", Of: ofCalls},

	{Name: injectedPackets, Words: "packets injected", Of: ofPackets},
	{Name: "in_flight", Words: "packets in flight at the end", Of: ofPackets},
	{Name: "packet_hops", Words: "hops of all packets", Of: ofPackets},
	{Name: "retries", Better: Lower, Words: "packets sent again", Of: ofPackets},
	{Name: "dropped_*", Better: Lower, Words: "packets dropped, by cause", Of: ofPackets},
	{Name: "delivered_bytes_per_s", Better: Higher, Words: "delivered", Of: ofPackets},
	{Name: "p50_delay_s", Better: Lower, Words: "median packet delay", Of: ofPackets, Format: Class},
	{Name: "max_delay_s", Better: Lower, Words: "longest packet delay", Of: ofPackets},
	{Name: "max_queue_packets", Better: Lower, Words: "longest queue of packets", Of: ofPackets},

	{Name: "bound_slots_round", Words: "lower bound on slots, of rounds", Of: ofPlans},
	{Name: "bound_slots_forward", Words: "lower bound on slots, storing and forwarding", Of: ofPlans},
	{Name: "bound_slots_relay", Words: "lower bound on slots, relaying", Of: ofPlans},
	{Name: "chunks", Words: "chunks", Of: ofPlans},
	{Name: "slot_s", Words: "time of a slot", Of: ofPlans},
	{Name: "largest_queue", Better: Lower, Words: "longest queue of chunks", Of: ofPlans},

	{Name: "nodes", Words: "nodes", Of: ofFabric},
	{Name: "links", Words: "links", Of: ofFabric},
	{Name: "flows", Words: "flows", Of: ofPaths},
	{Name: "links_lost", Better: Lower, Words: "links that are down", Of: ofFabric},
	{Name: "bisection_links", Better: Higher, Words: "links across the bisection", Of: ofFabric},
	{Name: "optical_connections", Better: Lower, Words: "connections through optical switches", Of: ofFabric},
	{Name: "switch_commands", Better: Lower, Words: "commands to optical switches", Of: ofFabric},
	{Name: "switch_s", Better: Lower, Words: "time to switch", Of: ofFabric},

	{Name: "bound_*", Words: "lower bounds", Of: ofRuns},
	{Name: solveTime, Better: Lower, Words: "time to decide", Of: ofRuns, Format: Wall},
	{Name: simulateTime, Better: Lower, Words: "time to simulate", Of: ofRuns, Format: Wall},
}

// overFluid is the end of packets over that of a fluid: of messages, the time that the link that takes longest needs
// for all.
func overFluid(row, _ map[string]float64) (v float64, ok bool) {
	_, packets := row[injectedPackets]
	fluid, completion := row[fluidTime], cmp.Or(row[completion], row[iterationTime])
	return completion / fluid, packets && fluid > 0 && completion > 0
}

// boundNCT is the NCT that the lower bound on the iteration time allows.
func boundNCT(row, reference map[string]float64) (float64, bool) {
	bound, ok := row["bound_makespan_s"]
	ideal, compute := reference[iterationTime], reference[computeTime]
	if _, has := reference[computeTime]; !ok || !has || ideal <= compute {
		return 0, false
	}
	return (bound - compute) / (ideal - compute), true
}
