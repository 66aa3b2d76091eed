package cli

var tierCases = []correctedCase{
	{
		name:   "copies-contracted",
		args:   []string{"run", "@/tiers-copies.toml"},
		before: "22.777 ms; the copies in a stage did not synchronise",
		right:  "25.797 ms, as in the graph",
		check:  checkMetricValues("makespan_s", map[string]float64{"prop-alloc": 0.02579664732, "delta-joint": 0.02579664732}),
	},
	{
		name:   "copies-graph",
		args:   []string{"run", "@/tiers-copies-graph.toml"},
		before: "27.139 ms by rings of all copies, of one stage and another",
		right:  "25.797 ms, as in the contracted form",
		check:  checkMetricValues("makespan_s", map[string]float64{"prop-alloc": 0.02579664732, "delta-joint": 0.02579664732}),
	},
	{
		name:   "copies-contracted-bytes",
		args:   []string{"run", "@/tiers-copies.toml"},
		before: "1.611 GB",
		right:  "2.819 GB, as in the graph",
		check:  checkMetricValues("tier2_bytes", map[string]float64{"prop-alloc": 2818572288, "delta-joint": 2818572288}),
	},
	{
		name:   "copies-graph-bytes",
		args:   []string{"run", "@/tiers-copies-graph.toml"},
		before: "2.517 GB",
		right:  "2.819 GB, as in the contracted form",
		check:  checkMetricValues("tier2_bytes", map[string]float64{"prop-alloc": 2818572288, "delta-joint": 2818572288}),
	},
	{
		name:   "written-late",
		args:   []string{"run", "@/written-a.toml"},
		before: "192.300 us",
		right:  "192.300 us",
		check:  checkMetricValues("completion_s", map[string]float64{"dor": 0.0001923}),
	},
	{
		name:   "read-late", // reads the file that the previous case writes
		args:   []string{"run", "@/written-b.toml"},
		before: "240.000 us; each send waited for the arrival of the one before",
		right:  "192.300 us, as what was written",
		check:  checkMetricValues("makespan_s", map[string]float64{"dor": 0.0001923}),
	},
}
