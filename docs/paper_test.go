package docs_test

// model is a workload of Table I with what the paper says of it.
type model struct {
	scenario, name           string
	gap400, gap1600          string // to the ideal fabric, by bandwidth in Gb/s (Sec. V-B)
	gap2048, gap16384        string // and by sequence length (Sec. V-C)
	overBandwidths           string // largest reduction against the best baseline
	overTopo, overSequences  string
	portsTopo, portsJoint    string // Fig. 9
	donated                  string // Fig. 10
	timeTopo, timeJoint, hot string // Fig. 11, longest in seconds
}

var models = []model{
	{
		scenario: "megatron177b", name: "Megatron-177B", gap400: "11.0", gap1600: "1.2", gap2048: "11.9", gap16384: "4.2",
		overBandwidths: "11.5 at 800", overTopo: "11.5 at 800", overSequences: "15.8 at 8192", donated: "11.0, 2.2", portsTopo: "below 80", portsJoint: "below 80",
	},
	{
		scenario: "mixtral8x22b", name: "Mixtral-8x22B", gap400: "46.5", gap1600: "12.7", gap2048: "44.8", gap16384: "30.7",
		overBandwidths: "13.7 at 1600", overTopo: "10.6 at 1600", overSequences: "9.8 at 4096", donated: "46.5, 20.4", portsTopo: "below 80", portsJoint: "below 80",
	},
	{
		scenario: "megatron462b", name: "Megatron-462B", gap400: "-", gap1600: "0", gap2048: "2.3", gap16384: "0",
		overBandwidths: "10.7 at 200", overTopo: "10.7 at 200", overSequences: "11.6 at 2048", portsTopo: "68.8", portsJoint: "60.9",
		timeTopo: "896", timeJoint: "928", hot: "358",
	},
	{
		scenario: "deepseek671b", name: "DeepSeek-671B", gap400: "24.3", gap1600: "0", gap2048: "25.6", gap16384: "0",
		overBandwidths: "17.5 at 800", overTopo: "10.7 at 1600", overSequences: "18.1 at 16384", donated: "24.3, 2.8", portsTopo: "below 80", portsJoint: "81.3",
		timeTopo: "2020", timeJoint: "1526", hot: "637",
	},
}

var (
	baselines = []string{"prop-alloc", "sqrt-alloc", "iter-halve"}
	searches  = []string{"delta-fast", "delta-topo", "delta-joint"}
)
