package cli

var trafficCases = []correctedCase{
	{
		name:   "padded-packets-call",
		args:   []string{"run", "@/padded-packets-call.toml"},
		before: "240.08 ns",
		right:  "240.08 ns: the short last packet of a message has its own size",
		check:  metricIs("completion_s", map[string]float64{"dor": 240.08e-9}),
	},
	{
		name:   "padded-packets",
		args:   []string{"run", "@/padded-packets.toml"},
		before: "400 ns: the last packet of 1 B was sent as 1,000 B",
		right:  "240.08 ns, as the same all-to-all as a call",
		check:  metricIs("completion_s", map[string]float64{"dor": 240.08e-9}),
	},
	{
		name:   "padded-packets-window",
		args:   []string{"run", "@/padded-packets.toml", "--set", `workload.source="window"`},
		before: "400 ns",
		right:  "240.08 ns, as greedy sources",
		check:  metricIs("completion_s", map[string]float64{"dor": 240.08e-9}),
	},
}
