package cli

var tierCases = []correctedCase{
	{
		name:   "copies-contracted",
		args:   []string{"run", "@/tiers-copies.toml"},
		before: "22.777 ms; the copies in a stage did not synchronise",
		right:  "25.797 ms, as in the graph",
		check:  metricIs("makespan_s", map[string]float64{"prop-alloc": 0.02579664732, "delta-joint": 0.02579664732}),
	},
	{
		name:   "copies-graph",
		args:   []string{"run", "@/tiers-copies-graph.toml"},
		before: "27.139 ms by rings of all copies, of one stage and another",
		right:  "25.797 ms, as in the contracted form",
		check:  metricIs("makespan_s", map[string]float64{"prop-alloc": 0.02579664732, "delta-joint": 0.02579664732}),
	},
	{
		name:   "copies-contracted-bytes",
		args:   []string{"run", "@/tiers-copies.toml"},
		before: "1.611 GB",
		right:  "2.819 GB, as in the graph",
		check:  metricIs("tier2_bytes", map[string]float64{"prop-alloc": 2818572288, "delta-joint": 2818572288}),
	},
	{
		name:   "copies-graph-bytes",
		args:   []string{"run", "@/tiers-copies-graph.toml"},
		before: "2.517 GB",
		right:  "2.819 GB, as in the contracted form",
		check:  metricIs("tier2_bytes", map[string]float64{"prop-alloc": 2818572288, "delta-joint": 2818572288}),
	},
}
