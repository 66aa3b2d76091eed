package plans

import (
	"sim/engine"
	"sim/engine/units"
)

// ScaleUp is a fabric of kind "scaleup": GPUs joined by optical switches, each of which has a link to and from every
// GPU.
type ScaleUp struct {
	GPUs        int         `key:"gpus" doc:"GPUs of the domain; of a training step those of a stage" else:"8; of a matrix its rows; of a training step the GPUs that its experts are spread over" min:"2" max:"4096"`
	Switches    int         `key:"switches" doc:"optical switches, so links out of and into each GPU; fewer than GPUs" default:"1" min:"1" max:"4095"`
	LinkRate    units.Rate  `key:"link_rate" doc:"rate of a link, in each direction" default:"800Gbps" above:"0" max:"1e16"`
	LinkLatency engine.Time `key:"link_latency" doc:"time that a bit takes over a hop" default:"500ns"`
	Delay       engine.Time `key:"reconfiguration_delay" doc:"time that links are down when switches reconfigure; the first topology counts" default:"1ms"`
	Reconfigure string      `key:"reconfigure" doc:"whether all switches reconfigure together, or each may while the others carry traffic, which 'reconfigure-during+' makes use of" default:"together" choices:"together|independent" when:"workload.kind=all-to-all|training"`
	NICRate     units.Rate  `key:"nic_bandwidth" doc:"rate of a GPU's link to other domains, in each direction, over a fabric that does not block" default:"400Gbps" above:"0" max:"1e16" when:"workload.kind=training"`
}

// Exchange is an all-to-all on a scale-up domain.
type Exchange struct {
	MeanMessage
	Messages
}

// MeanMessage is the size of messages where not all are listed.
type MeanMessage struct {
	Message units.Bytes `key:"message" doc:"mean size of the message of an ordered pair" default:"32MB" when:"sizes=uniform|random|zipf"`
}

// Messages is who sends how much to whom, wherever its keys stand.
type Messages struct {
	Sizes    string      `key:"sizes" doc:"sizes of the messages: 'uniform'; 'random', evenly from nothing to twice the mean; 'zipf', by rank, ranks drawn; 'matrix', as listed; or the name of a CSV file with a row of sizes for each GPU" default:"uniform"`
	Matrix   [][]int     `key:"matrix" doc:"sizes in bytes, a row for each GPU that sends" max:"1125899906842624" when:"sizes=matrix"`
	Exponent float64     `key:"zipf_exponent" doc:"how fast sizes fall by rank" default:"0.4" max:"10" when:"sizes=zipf"`
	Chunk    units.Bytes `key:"chunk" doc:"size of the pieces in which messages are sent, the last perhaps smaller but taking as long" default:"4MB"`
}

// Planning is the options of planners.
type Planning struct {
	Planners         []string      `key:"planners" doc:"the planners, in the order of the result's rows" else:"reconfigure-during, reconfigure-during+ and the baselines; of other collectives reconfigure-during+ and static-ring" choices:"@planners"`
	Reconfigurations int           `key:"reconfigurations" doc:"take the plan with the fewest slots of those with at most so many topologies; 0 is what is best for the delay" default:"0" max:"4095" when:"workload.kind=all-to-all|training"`
	During           DuringOptions `table:"reconfigure-during" doc:"The paper's construction (Sec. 4)." when:"workload.kind=all-to-all|training & policy.planners~reconfigure-during|reconfigure-during+"`
	Plus             PlusOptions   `table:"reconfigure-during+" doc:"Better plans than the paper's." when:"workload.kind=all-to-all|training & policy.planners~reconfigure-during+"`
	StaticOptions    `table:"static" doc:"Topologies that stay as they are." when:"workload.kind=all-to-all|training & policy.planners~reconfigure-during+|static-ring|directconnect-kautz|directconnect-circulant|topoopt|mixnet"`
	FASTOptions      `table:"fast" doc:"Permutations one after another (FAST)." when:"workload.kind=all-to-all|training & policy.planners~fast|reconfigure-during+"`
	Imported         ImportedOptions `table:"imported" doc:"Plans from a file, of which the best is taken." when:"workload.kind=all-to-all|training & policy.planners~imported"`
}

// DuringOptions are the options of the planner "reconfigure-during".
type DuringOptions struct {
	Schedule string `key:"schedule" doc:"whether chunks of a phase go hop by hop as links are free, those of low number first, as the paper simulates them, or round after round" default:"best" choices:"best|simulated|rounds"`
	Base     string `key:"base" doc:"base topology of degree above 1" default:"best" choices:"best|circulant|genkautz"`
	Relabel  bool   `key:"relabel" doc:"number GPUs such that large messages share rounds (Sec. 4.4)" default:"true"`
}

// PlusOptions are the options of the planner "reconfigure-during+".
type PlusOptions struct {
	Relay  bool `key:"relay" doc:"whether chunks may rest at a GPU that relays them while switches reconfigure" default:"true"`
	Buffer int  `key:"buffer" doc:"peak buffer: most chunks of others that a GPU may hold, in plans of its own; 0 is no limit" default:"0" max:"1073741824"`
	Others bool `key:"others" doc:"whether it takes the plan of another planner where that is better" default:"true"`
}

// StaticOptions says how chunks cross topologies that stay.
type StaticOptions struct {
	Static string `key:"schedule" doc:"'fluid', at the least load of the most loaded link that splitting can reach, without a plan; 'paths', the same on one shortest path a pair; 'simulated', chunk by chunk on those paths; 'packed', on shortest paths that share the load; or the 'strongest' of them" default:"strongest" choices:"strongest|fluid|paths|simulated|packed"`
}

// FASTOptions are the options of the planner "fast".
type FASTOptions struct {
	FastModel string `key:"model" doc:"how several switches serve: as many permutations at once, each permutation on all of them, or one on a single one" default:"together" choices:"together|striped|one"`
}

// ImportedOptions are the options of the planner "imported".
type ImportedOptions struct {
	File   string `key:"file" doc:"JSON file as --plan-out writes it" required:""`
	SHA256 string `key:"sha256" doc:"of the file, which it must have" else:"the file's"`
}
