package reconfigure

import "sim/policies/reconfigure/plan"

// Keys say which planners are compared, and their options.
type Keys struct {
	Planners         []string `key:"planners" doc:"the planners, in the order of the result's rows" else:"reconfigure-during, reconfigure-during+ and the baselines; of other collectives reconfigure-during+ and static-ring" choices:"@planners"`
	Reconfigurations int      `key:"reconfigurations" doc:"take the plan with the fewest slots of those with at most so many topologies; 0 is what is best for the delay" default:"0" max:"4095" when:"workload(exchange)"`
	Settings
}

// Fixed is the planner of a tier, whose plans are not compared.
type Fixed struct {
	Planner string `key:"planner" doc:"of an inner tier 'scaleup': who plans its all-to-alls" default:"reconfigure-during" choices:"@planners"`
}

// Options are those of all planners.
type Options struct {
	Settings
	// Independent lets each switch reconfigure on its own, of which "reconfigure-during+" makes use.
	Independent bool
	// Plans are those that Imported names. Of those whose switches reconfigure on their own "imported" takes, with
	// Independent, those made for a delay of at least DelaySlots slots.
	Plans      []*plan.Plan
	DelaySlots int64
	Workers    int // goroutines; they change no result
}

// Settings are the options of each planner that are keys.
type Settings struct {
	During        DuringOptions `table:"reconfigure-during" doc:"The paper's construction (Sec. 4)." when:"workload(exchange) & read(reconfigure-during)"`
	Plus          PlusOptions   `table:"reconfigure-during+" doc:"Better plans than the paper's." when:"workload(exchange) & read(reconfigure-during+)"`
	StaticOptions `table:"static" doc:"Topologies that stay as they are." when:"workload(exchange) & read(static|static-ring)"`
	FASTOptions   `table:"fast" doc:"Permutations one after another (FAST)." when:"workload(exchange) & read(fast)"`
	Imported      ImportedOptions `table:"imported" doc:"Plans from a file, of which the best is taken." when:"workload(exchange) & read(imported)"`
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
