package scenarios

import (
	"sim/engine"
	"sim/engine/units"
	"sim/policies/reconfigure"
	"sim/scenarios/assembly/paths"
	"sim/scenarios/schema"
)

// vector is MeanMessage of collectives that are no all-to-alls.
type vector struct {
	Message units.Bytes `key:"message" doc:"size of the vector of each GPU; of an all-gather, of what each GPU has in the end" default:"32MB"`
}

// listed are the keys of a matrix, which matrixAlias turns into those of an all-to-all.
type listed struct {
	_ string      `key:"matrix_file" doc:"CSV file with a row of bytes for each GPU that sends, in place of matrix"`
	_ [][]int     `key:"matrix" doc:"sizes in bytes, a row for each GPU that sends" max:"1125899906842624"`
	_ units.Bytes `key:"chunk" doc:"size of the pieces in which messages are sent, the last perhaps smaller but taking as long" default:"4MB"`
}

// planLevel is Engine of plans.
type planLevel struct {
	Level              string `key:"level" doc:"'cost', by delays and slots alone; 'plan', written out and checked; 'packet', on queues, slot by slot and as links are free; 'flow', as fluid" default:"plan" choices:"cost|plan|packet|flow"`
	Until, SampleEvery engine.Time
	MessageOverhead    engine.Time
}

// Kinds of collectives on scale-up domains, beside all-to-alls.
const (
	allReduce     = "all-reduce"
	reduceScatter = "reduce-scatter"
	allGather     = "all-gather"
)

// scaleUpKinds describes the fabric "scaleup" and the workloads that it alone simulates.
func scaleUpKinds() []*kind {
	on := func(name, doc, keys string, specs func(s *Scenario) []any) *kind {
		return &kind{section: "workload", on: "scaleup", name: name, doc: doc, parts: func(s *Scenario) []schema.Part {
			return []schema.Part{{Path: "workload", Doc: keys, Specs: append([]any{&s.Workload.WorkloadKind}, specs(s)...)}}
		}}
	}
	const whom = "Who sends how much to whom."
	vectors := func(s *Scenario) []any { return []any{(*vector)(&s.Workload.Exchange.MeanMessage)} }
	all := on(paths.AllToAll, "Every GPU of a scale-up domain sends a message to every other.", whom, func(s *Scenario) []any { return []any{&s.Workload.Exchange} })
	all.prepare = prepareExchange
	workloads := []*kind{
		all,
		on(paths.MatrixTraffic, "An all-to-all of bytes from each GPU to each, from a file or list.", whom, func(*Scenario) []any { return []any{new(listed)} }),
		on(allReduce, "All GPUs sum a vector.", "How much.", vectors),
		on(reduceScatter, "All GPUs sum a vector of which each keeps a part.", "How much.", vectors),
		on(allGather, "All GPUs gather the parts of a vector.", "How much.", vectors),
		{
			section: "workload", on: "scaleup", name: "training", trains: true,
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
	}
	var names []string
	for _, k := range workloads {
		names = append(names, k.name)
	}
	for _, k := range workloads {
		k.when = (*Scenario).planned
	}
	return append(workloads, &kind{
		section: "fabric", name: "scaleup", decides: "planners", which: "whose switches reconfigure", when: (*Scenario).planned, refuses: "%s; set workload.kind = " + schema.QuotedList(names),
		doc:   "A scale-up domain: GPUs joined by optical switches that reconfigure during a collective.",
		parts: scaleUpParts, prepare: prepareImport, check: checkScaleUp,
	}, keptKind())
}

// scaleUpParts are the tables of the fabric "scaleup" and of its planners.
func scaleUpParts(s *Scenario) []schema.Part {
	return []schema.Part{
		{
			Path: "fabric", Doc: "The domain.", Specs: []any{&s.Fabric.FabricKind, &s.Fabric.ScaleUp}, Defaults: func(int) []any {
				d := s.Fabric.ScaleUp
				switch w := &s.Workload; {
				case s.trains():
					d.GPUs = max(2, w.EP*w.ETP)
				case w.Kind == paths.AllToAll && w.Exchange.Sizes == "matrix":
					d.GPUs = max(2, len(w.Exchange.Matrix))
				default:
					d.GPUs = 8
				}
				return []any{&d}
			},
		},
		{
			Path: "policy", Doc: "Which planners are compared.", Specs: []any{&s.Policy.Keys}, Defaults: func(int) []any {
				d := s.Policy.Keys
				d.Planners = plannersWhere(func(r *reconfigure.Row) bool { return r.Usual })
				if s.gathers() {
					d.Planners = plannersOfCollectives()
				}
				return []any{&d}
			},
		},
		{Path: "engine", Doc: "How closely plans are simulated.", Specs: []any{(*planLevel)(&s.Engine)}},
	}
}

// gathers reports whether s is a collective other than an all-to-all.
func (s *Scenario) gathers() bool { return s.plans() && s.domain().Gathers() }

// plannersOfCollectives serve collectives other than all-to-alls.
func plannersOfCollectives() []string {
	return plannersWhere(func(r *reconfigure.Row) bool { return r.Collective != nil })
}

func plannersWhere(ok func(*reconfigure.Row) bool) (names []string) {
	for i := range reconfigure.Table {
		if r := &reconfigure.Table[i]; ok(r) {
			names = append(names, r.Name)
		}
	}
	return names
}
