package docs_test

// paperModel is a workload of Table I of the DELTA paper with the paper's results as text. An
// empty text or "-" means that the paper states no value.
type paperModel struct {
	scenario, name                    string
	gap400, gap1600                   string // NCT - 1 in %, at the given bandwidth in Gb/s (Sec. V-B)
	gap2048, gap16384                 string // NCT - 1 in %, at the given sequence length (Sec. V-C)
	overBandwidths                    string // largest reduction in % against the best baseline
	overTopo, overSequences           string
	portsTopo, portsJoint             string // ports in % of all ports (Fig. 9)
	borrowerNCT                       string // NCT - 1 in % before and after borrowing ports (Fig. 10)
	timeTopo, timeJoint, timeHotStart string // longest decision time in seconds (Fig. 11)
}

// paperModels are the workloads of the tables, in their order.
var paperModels = []paperModel{
	{
		scenario: "megatron177b", name: "Megatron-177B", gap400: "11.0", gap1600: "1.2",
		gap2048: "11.9", gap16384: "4.2",
		overBandwidths: "11.5 at 800", overTopo: "11.5 at 800", overSequences: "15.8 at 8192",
		borrowerNCT: "11.0, 2.2", portsTopo: "below 80", portsJoint: "below 80",
	},
	{
		scenario: "mixtral8x22b", name: "Mixtral-8x22B", gap400: "46.5", gap1600: "12.7",
		gap2048: "44.8", gap16384: "30.7",
		overBandwidths: "13.7 at 1600", overTopo: "10.6 at 1600", overSequences: "9.8 at 4096",
		borrowerNCT: "46.5, 20.4", portsTopo: "below 80", portsJoint: "below 80",
	},
	{
		scenario: "megatron462b", name: "Megatron-462B", gap400: "-", gap1600: "0", gap2048: "2.3",
		gap16384:       "0",
		overBandwidths: "10.7 at 200", overTopo: "10.7 at 200", overSequences: "11.6 at 2048",
		portsTopo: "68.8", portsJoint: "60.9",
		timeTopo: "896", timeJoint: "928", timeHotStart: "358",
	},
	{
		scenario: "deepseek671b", name: "DeepSeek-671B", gap400: "24.3", gap1600: "0",
		gap2048: "25.6", gap16384: "0",
		overBandwidths: "17.5 at 800", overTopo: "10.7 at 1600", overSequences: "18.1 at 16384",
		borrowerNCT: "24.3, 2.8", portsTopo: "below 80", portsJoint: "81.3",
		timeTopo: "2020", timeJoint: "1526", timeHotStart: "637",
	},
}

var (
	// simplePolicies consider the traffic matrix alone. searchPolicies search topologies.
	simplePolicies = []string{"prop-alloc", "sqrt-alloc", "iter-halve"}
	searchPolicies = []string{"delta-fast", "delta-topo", "delta-joint"}
)
