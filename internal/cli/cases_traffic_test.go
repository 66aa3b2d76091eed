package cli

var trafficCases = []correctedCase{
	{
		name:   "padded-packets-call",
		args:   []string{"run", "@/padded-packets-call.toml"},
		before: "240.08 ns",
		right:  "240.08 ns: the short last packet of a message has its own size",
		check:  checkMetricValues("completion_s", map[string]float64{"dor": 240.08e-9}),
	},
	{
		name:   "parallel-links",
		args:   []string{"run", "@/parallel-links.toml", "--set", "workload.kind=\"all-reduce\""},
		before: "960 us",
		right:  "480 us: reduce-scatter and all-gather take 240 us each",
		check:  checkMetricValues("completion_s", map[string]float64{"swing": 480e-6, "bucket": 480e-6, "multi-ring": 480e-6}),
	},
	{
		name:   "parallel-links-routed",
		args:   []string{"run", "@/parallel-links.toml", "--set", "workload.kind=\"all-reduce\"", "--set", "policy.collectives=[\"bidirectional-ring\"]"},
		before: "1.92 ms: direct hops share links with routed ones while parallel links are idle",
		right:  "960 us: all transfers have full rate, three quarters of 32 MB each way and in each half",
		check:  checkMetricValues("completion_s", map[string]float64{"bidirectional-ring": 960e-6}),
	},
	{
		name:   "allreduce-axis2",
		args:   []string{"run", "@/allreduce-axis2.toml"},
		before: "120.96 us",
		right:  "60.48 us, the bound",
		check:  checkMetricValues("completion_s", map[string]float64{"swing": 60.48e-6, "bucket": 60.48e-6, "multi-ring": 60.48e-6}),
	},
	{
		name:   "dor-parallel-links",
		args:   []string{"run", "@/dor-parallel-links.toml"},
		before: "dor and wild-first 4, half of the parallel links are idle",
		right:  "2",
		check:  checkMetricValues("max_link_load", map[string]float64{"dor": 2, "wild-first": 2, "route-optimised": 2}),
	},
	{
		name:   "padded-packets",
		args:   []string{"run", "@/padded-packets.toml"},
		before: "400 ns: the last packet of 1 B was sent as 1,000 B",
		right:  "240.08 ns, as the same all-to-all as a call",
		check:  checkMetricValues("completion_s", map[string]float64{"dor": 240.08e-9}),
	},
	{
		name:   "padded-packets-window",
		args:   []string{"run", "@/padded-packets.toml", "--set", `workload.source="window"`},
		before: "400 ns",
		right:  "240.08 ns, as greedy sources",
		check:  checkMetricValues("completion_s", map[string]float64{"dor": 240.08e-9}),
	},
	{
		name:   "ring-kind-bound",
		args:   []string{"run", "@/ring-kind.toml"},
		before: "optimal, bound 1.26 ms",
		right:  "bound 0.42 ms, that of the same all-reduce as a call: 126/64 of 64 MB over 6 links of 50 GB/s",
		check:  checkMetricValues("bound_completion_s", map[string]float64{"dor": 0.42e-3}),
	},
	{
		name:   "ring-kind-gap",
		args:   []string{"run", "@/ring-kind.toml"},
		before: "0",
		right:  "200 %, that of bidirectional rings as a call",
		check:  checkMetricValues("gap", map[string]float64{"dor": 2}),
	},
	{
		name:   "ring-call-bound",
		args:   []string{"run", "@/ring-call.toml"},
		before: "0.42 ms",
		right:  "0.42 ms",
		check:  checkMetricValues("bound_completion_s", map[string]float64{"bidirectional-ring": 0.42e-3, "multi-ring": 0.42e-3}),
	},
}
