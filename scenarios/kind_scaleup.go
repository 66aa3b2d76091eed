package scenarios

import (
	"slices"

	"sim/engine"
	"sim/engine/units"
	"sim/policies/reconfigure"
	"sim/scenarios/schema"
)

// ScaleUp is a fabric of kind "scaleup": GPUs joined by optical switches, each of which has a link to and from every
// GPU.
type ScaleUp struct {
	GPUs        int         `key:"gpus" doc:"GPUs of the domain; of a training step those of a stage" else:"8; of a matrix its rows; of a training step the GPUs that its experts are spread over" min:"2" max:"4096"`
	Switches    int         `key:"switches" doc:"optical switches, so links out of and into each GPU; fewer than GPUs" default:"1" min:"1" max:"4095"`
	LinkRate    units.Rate  `key:"link_rate" doc:"rate of a link, each way" default:"800Gbps" above:"0" max:"1e16"`
	LinkLatency engine.Time `key:"link_latency" doc:"time that a bit takes over a hop" default:"500ns"`
	Delay       engine.Time `key:"reconfiguration_delay" doc:"time that links are dark when switches reconfigure; the first topology counts" default:"1ms"`
	Reconfigure string      `key:"reconfigure" doc:"whether all switches reconfigure together, or each may while the others carry traffic, which 'reconfigure-during+' makes use of" default:"together" choices:"together|independent" when:"workload.kind=all-to-all|training"`
	NICRate     units.Rate  `key:"nic_bandwidth" doc:"rate of a GPU's link to other domains, each way, over a fabric that does not block" default:"400Gbps" above:"0" max:"1e16" when:"workload.kind=training"`
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
	Chunk    units.Bytes `key:"chunk" doc:"size of the pieces in which messages are sent, the last perhaps smaller but as long on its way" default:"4MB"`
}

// vector is MeanMessage of collectives that are no all-to-alls.
type vector struct {
	Message units.Bytes `key:"message" doc:"size of the vector of each GPU; of an all-gather, of what each GPU has in the end" default:"32MB"`
}

// listed are the keys of a matrix, which matrixAlias turns into those of an all-to-all.
type listed struct {
	_ string      `key:"matrix_file" doc:"CSV file with a row of bytes for each GPU that sends, in place of matrix"`
	_ [][]int     `key:"matrix" doc:"sizes in bytes, a row for each GPU that sends" max:"1125899906842624"`
	_ units.Bytes `key:"chunk" doc:"size of the pieces in which messages are sent, the last perhaps smaller but as long on its way" default:"4MB"`
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
	Relay  bool `key:"relay" doc:"whether chunks may rest at a GPU on their way while switches reconfigure" default:"true"`
	Buffer int  `key:"buffer" doc:"most chunks on their way that a GPU may hold, in plans of its own; 0 is no limit" default:"0" max:"1073741824"`
	Others bool `key:"others" doc:"whether it takes the plan of another planner where that is better" default:"true"`
}

// StaticOptions says how chunks cross topologies that stay.
type StaticOptions struct {
	Static string `key:"schedule" doc:"'fluid', at the least load of the busiest link that splitting can reach, without a plan; 'paths', the same on one shortest way a pair; 'simulated', chunk by chunk on those ways; 'packed', on shortest ways that share the load; or the 'strongest' of them" default:"strongest" choices:"strongest|fluid|paths|simulated|packed"`
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

// planLevel is Engine of plans.
type planLevel struct {
	Level              string `key:"level" doc:"'cost', by delays and slots alone; 'plan', written out and checked; 'packet', on queues, slot by slot and as links are free; 'flow', as fluid" default:"plan" choices:"cost|plan|packet|flow"`
	Until, SampleEvery engine.Time
}

// Kinds of collectives on scale-up domains, beside allToAll.
const (
	allReduce     = "all-reduce"
	reduceScatter = "reduce-scatter"
	allGather     = "all-gather"
)

// scaleUpKinds describes the fabric "scaleup" and the workloads that it alone plays.
func scaleUpKinds() []*kind {
	on := func(name, doc, like string, keys string, specs func(s *Scenario) []any) *kind {
		return &kind{section: "workload", on: "scaleup", name: name, doc: doc, like: like, parts: func(s *Scenario) []schema.Part {
			return []schema.Part{{Path: "workload", Doc: keys, Specs: append([]any{&s.Workload.WorkloadKind}, specs(s)...)}}
		}}
	}
	const whom = "Who sends how much to whom."
	vectors := func(s *Scenario) []any { return []any{(*vector)(&s.Workload.Exchange.MeanMessage)} }
	all := on(allToAll, "Every GPU of a scale-up domain sends a message to every other.", "", whom, func(s *Scenario) []any { return []any{&s.Workload.Exchange} })
	all.prepare = prepareExchange
	return []*kind{
		all,
		on(matrixTraffic, "An all-to-all of bytes from each GPU to each, from a file or list.", "", whom, func(*Scenario) []any { return []any{new(listed)} }),
		on(allReduce, "All GPUs sum a vector.", "gathers", "How much.", vectors),
		on(reduceScatter, "All GPUs sum a vector of which each keeps a part.", "gathers", "How much.", vectors),
		on(allGather, "All GPUs gather the parts of a vector.", "gathers", "How much.", vectors),
		{
			section: "workload", on: "scaleup", name: "training", like: "training",
			doc: "A training step of a model with experts, whose all-to-alls stay inside scale-up domains of the GPUs of a stage.",
			parts: func(s *Scenario) []schema.Part {
				return append(trainingParts(s), schema.Part{Path: "workload.experts", Doc: "The all-to-alls to and from experts.", Specs: []any{&s.Workload.Exchange.Messages}})
			},
			prepare: func(c *checker) {
				prepareTraining(c)
				prepareExchange(c)
			},
			check: checkTraining,
		},
		{
			section: "fabric", name: "scaleup", decides: "planners",
			doc:   "A scale-up domain: GPUs joined by optical switches that reconfigure during a collective.",
			parts: scaleUpParts, prepare: prepareImport, check: checkScaleUp,
		},
	}
}

// scaleUpParts are the tables of the fabric "scaleup" and of its planners.
func scaleUpParts(s *Scenario) []schema.Part {
	return []schema.Part{
		{
			Path: "fabric", Doc: "The domain.", Specs: []any{&s.Fabric.FabricKind, &s.Fabric.ScaleUp}, Defaults: func(int) []any {
				d := s.Fabric.ScaleUp
				switch w := &s.Workload; {
				case w.Kind == "training":
					d.GPUs = max(2, w.EP*w.ETP)
				case w.Kind == allToAll && w.Exchange.Sizes == "matrix":
					d.GPUs = max(2, len(w.Exchange.Matrix))
				default:
					d.GPUs = 8
				}
				return []any{&d}
			},
		},
		{
			Path: "policy", Doc: "Which planners are compared.", Specs: []any{&s.Policy.Planning}, Defaults: func(int) []any {
				d := s.Policy.Planning
				d.Planners = slices.Clone(reconfigure.Usual)
				if s.gathers() {
					d.Planners = slices.Clone(gatherPlanners)
				}
				return []any{&d}
			},
		},
		{Path: "engine", Doc: "How closely plans are played.", Specs: []any{(*planLevel)(&s.Engine)}},
	}
}

// plans reports whether the policies of s are planners.
func (s *Scenario) plans() bool { return s.decision() == "planners" }

// gathers reports whether s is a collective other than an all-to-all.
func (s *Scenario) gathers() bool {
	return s.plans() && slices.Contains([]string{allReduce, reduceScatter, allGather}, s.Workload.Kind)
}

// gatherPlanners serve collectives other than all-to-alls.
var gatherPlanners = []string{"reconfigure-during+", "static-ring"}
