package reconfigure

import "sim/policies/reconfigure/plan"

// Keys are the keys of table [policy] of a scenario: which planners are compared, and their
// options. The struct tags give the key, its description and its limits; package
// scenarios/schema reads them.
type Keys struct {
	Planners         []string `key:"planners" all:"" doc:"planners, or 'all', to compare, one row each" else:"reconfigure-during, reconfigure-during+ and the baselines; of other collectives reconfigure-during+ and static-ring" choices:"@planners"`
	Reconfigurations int      `key:"reconfigurations" doc:"maximum number of topologies; the plan with the fewest slots among these is used; 0 selects the best number for the delay" default:"0" max:"4095" when:"workload(exchange)"`
	Settings
}

// InnerTierKeys selects the planner of an inner tier. Planners of inner tiers are not compared.
type InnerTierKeys struct {
	Planner string `key:"planner" doc:"for an inner tier 'scaleup': planner of its all-to-alls" default:"reconfigure-during" choices:"@planners"`
}

// Options are the options of all planners.
type Options struct {
	Settings
	// Independent allows each switch to reconfigure independently. Only
	// "reconfigure-during+" and imported plans use this.
	Independent bool
	// Plans are the plans of the file in Imported. Plans with independent switches are used
	// only with Independent, and if they were made for a delay of at least DelaySlots
	// slots.
	Plans      []*plan.Plan
	DelaySlots int64 // reconfiguration delay in slots
	Workers    int   // goroutines; the number changes no result
}

// Settings are the options of planners that are keys of scenarios.
type Settings struct {
	During        DuringOptions `table:"reconfigure-during" doc:"The paper's construction (Sec. 4)." when:"workload(exchange) & read(reconfigure-during)"`
	Plus          PlusOptions   `table:"reconfigure-during+" doc:"Better plans than the paper's." when:"workload(exchange) & read(reconfigure-during+)"`
	StaticOptions `table:"static" doc:"Topologies that stay as they are." when:"workload(exchange) & read(static|static-ring)"`
	FASTOptions   `table:"fast" doc:"Permutations one after another (FAST)." when:"workload(exchange) & read(fast)"`
	Imported      ImportedOptions `table:"imported" doc:"Plans from a file, of which the best is taken." when:"workload(exchange) & read(imported)"`
}

// DuringOptions are the options of the planner "reconfigure-during".
type DuringOptions struct {
	Schedule string `key:"schedule" doc:"whether chunks of a phase are sent whenever links are free, in order of number, as the paper simulates them, or round after round" default:"best" choices:"best|simulated|rounds"`
	Base     string `key:"base" doc:"base topology if the degree is above 1" default:"best" choices:"best|circulant|genkautz"`
	Relabel  bool   `key:"relabel" doc:"whether GPUs are renumbered so that large messages share rounds (Sec. 4.4)" default:"true"`
}

// PlusOptions are the options of the planner "reconfigure-during+".
type PlusOptions struct {
	Relay  bool `key:"relay" doc:"whether chunks may rest at a GPU that relays them while switches reconfigure" default:"true"`
	Buffer int  `key:"buffer" doc:"maximum number of chunks of other GPUs that a GPU may hold, in plans of this planner; 0 means no limit" default:"0" max:"1073741824"`
	Others bool `key:"others" doc:"whether a better plan of another planner is used" default:"true"`
}

// StaticOptions are the options of planners with one topology.
type StaticOptions struct {
	Static string `key:"schedule" doc:"schedule of chunks: 'fluid', the minimum maximum link load with splitting, without a plan; 'paths', one shortest path per pair; 'simulated', chunk by chunk on these paths; 'packed', shortest paths that balance load; or the 'strongest' of them" default:"strongest" choices:"strongest|fluid|paths|simulated|packed"`
}

// FASTOptions are the options of the planner "fast".
type FASTOptions struct {
	FastModel string `key:"model" doc:"use of several switches: k permutations at once ('together'), each permutation on all switches ('striped'), or one permutation on one switch ('one')" default:"together" choices:"together|striped|one"`
}

// ImportedOptions are the options of the planner "imported".
type ImportedOptions struct {
	File   string `key:"file" doc:"JSON file written by --plan-out" required:""`
	SHA256 string `key:"sha256" doc:"SHA-256 of the file; other content is rejected" else:"the file's"`
}
