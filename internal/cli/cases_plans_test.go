package cli

var planCases = []correctedCase{
	exhaustive("plan-beaten-k2-4", "121.5 us", "81.0 us: two slots of one topology", 81.0e-6),
	exhaustive("plan-beaten-k2-18", "161.0 us", "121.0 us: two slots of one topology", 121.0e-6),
	exhaustive("plan-beaten-k2-28", "126.5 us", "86.0 us: two slots of one topology", 86.0e-6),
	exhaustive("plan-beaten-k1-148", "201.5 us", "161.5 us: three slots of one topology", 161.5e-6),
	exhaustive("plan-one-large-flow", "172.0 us", "172.0 us, its bound", 172.0e-6),
}

// exhaustive is the case of a small demand for which an exhaustive search found the least completion time of plans.
func exhaustive(file, before, right string, seconds float64) correctedCase {
	return correctedCase{
		name: file, args: []string{"run", "@/" + file + ".toml"}, before: before, right: right,
		check: metricIs("completion_s", map[string]float64{"reconfigure-during+": seconds}),
	}
}
