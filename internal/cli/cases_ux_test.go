package cli

var uxCases = []correctedCase{
	{
		name:   "shapes-4x4x32",
		args:   []string{"run", "@/a2a.toml", "--set", "engine.level=static", "--set", "fabric.dims=[4, 4, 32]", "--set", `policy.routers=["dor", "route-optimised"]`},
		before: "dor 2048, route-optimised 2176 after 93 s",
		right:  "2048 each: route-optimised is never worse than a router whose routes it may choose",
		check:  metricIs("max_link_load", map[string]float64{"dor": 2048, "route-optimised": 2048}),
	},
}
