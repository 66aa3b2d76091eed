package cli

var trafficCases = []correctedCase{
	{
		name:   "padded-packets-call",
		args:   []string{"run", "@/padded-packets-call.toml"},
		before: "240.08 ns",
		right:  "240.08 ns: the short last packet of a message has its own size",
		check:  metricIs("completion_s", map[string]float64{"dor": 240.08e-9}),
	},
}
