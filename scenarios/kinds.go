package scenarios

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"sim/scenarios/assembly/calls"
	"sim/scenarios/schema"
)

// kind is a row of the table of kinds: a workload or a fabric.
type kind struct {
	section string // "workload" or "fabric"
	name    string
	// forms are how the kind reads and checks its keys. A workload has several if its keys depend on the fabric, a fabric if
	// they depend on other keys. The first is taken if no other applies.
	forms []*form

	// Of workloads.
	keyGroups []string // groups of keys that it uses; a tag of a key names its group: when:"workload(GROUP)"
	// rankWork returns the work of its ranks on any hardware; nil of workloads that have none.
	rankWork    func(s *Scenario) calls.Work
	hasMappings bool // ranks have dimensions of parallelism, by which mappings place them on nodes
	// usesDimensions reports whether a scenario refers to dimensions of the fabric; nil never does.
	usesDimensions func(s *Scenario) bool

	// Of fabrics.
	hasCoordinates bool   // nodes have coordinates: the fabric has dimensions
	sizeKey        string // key of [fabric] that tells how many GPUs an inner tier joins
	canBeInner     bool   // it may be a tier inside others
	canBeOuter     bool   // it may be the outermost tier
	canBeShared    bool   // several jobs may share it
}

// form is a kind with the keys that it has in some scenarios.
type form struct {
	*kind
	doc string
	// when reports whether s is of this form; nil always does.
	when func(s *Scenario) bool
	// parts are its tables, bound to what they set in s. The first is its section, to which the key kind is added.
	parts   func(s *Scenario) []schema.Part
	prepare func(c *checker) // after reading, before defaults; may be nil
	check   func(c *checker) // cross-checks, when all keys have values; may be nil

	// Of workloads.
	acceptedCarriers []carrier        // a fabric must offer one of them
	isTraining       bool             // a training step, with a model and its parallelism
	isCall           bool             // a collective call, which an algorithm expands
	canBeCall        bool             // such a call if an algorithm is named
	checkOnPods      func(c *checker) // holds the work against pods; nil of work that pods do not carry, and of training steps

	// Of fabrics.
	carrier   carrier
	qualifier string // tells the form from others of the fabric; "" if there is one
	policyKey string // the decision that it leaves open, whose policies are compared
	*hardware
	unsupportedFormat string // which workload it does not simulate, and what would be right
}

// carrier is what a fabric carries work on. A workload is simulated on a fabric that offers what it needs.
type carrier uint8

const (
	linkCarrier    carrier = iota + 1 // links that are there before the work begins
	circuitCarrier                    // pods of endpoints, joined by circuits that are decided for the work
	planCarrier                       // switches whose topologies are planned together with an exchange
	cubeCarrier                       // cubes of chips, of which jobs get slices
)

// kinds are all rows, workloads before fabrics, which nobody changes.
func kinds() []*kind {
	registry.kindsOnce.Do(func() { registry.kinds = listKinds() })
	return registry.kinds
}

// registry is what all scenarios share, which nobody changes.
var registry struct {
	kindsOnce, choicesOnce, decisionsOnce, readersOnce sync.Once

	kinds     []*kind
	decisions []decision
	readers   map[string]*optionReaders
	choices   map[string]schema.Choices
}

func listKinds() []*kind {
	workloads := slices.Concat([]*kind{trainingKind()}, programKinds(), []*kind{traceKind()}, trafficKinds(), callKinds(), []*kind{fleetKind()})
	fabrics := []*kind{ocsPodsKind(), torusKind(), graphKind(), electricalKind(), tierKind(), scaleUpKind(), cubesKind()}
	all := append(workloads, fabrics...)
	for i, k := range all {
		key := func(s *Scenario) any { return &s.Workload.WorkloadKind }
		if k.section = sections[0]; i >= len(workloads) {
			k.section, key = sections[1], func(s *Scenario) any { return &s.Fabric.FabricKind }
		}
		for _, f := range k.forms {
			parts := f.parts
			f.kind, f.parts = k, func(s *Scenario) []schema.Part {
				all := parts(s)
				all[0].Specs = append([]any{key(s)}, all[0].Specs...)
				return all
			}
		}
	}
	return all
}

// allForms returns the forms of all kinds, in the order of the table.
func allForms() (all []*form) {
	for _, k := range kinds() {
		all = append(all, k.forms...)
	}
	return all
}

const unsupportedOnLinks = `%s; set fabric.kind = "scaleup", or workload.kind to traffic such as "all-to-all" or "nearest-neighbour", or a collective such as "all-reduce"`

// sections are the tables that have a key kind.
var sections = []string{"workload", "fabric"}

// generalPart describes the keys outside any kind.
func generalPart(s *Scenario) schema.Part {
	return schema.Part{Doc: "Keys before the first table.", Specs: []any{s}}
}

// formSchema returns the tables of some forms of kinds, bound to s, below the general keys.
func formSchema(s *Scenario, severalJobs bool, sectionForms ...*form) *schema.Schema {
	parts := []schema.Part{generalPart(s)}
	for _, f := range sectionForms {
		if f != nil {
			parts = append(parts, f.parts(s)...)
		}
	}
	return schema.New(s.tagNames(severalJobs), parts...)
}

// schema returns the tables of the kinds of s, bound to it, in the order of writing.
func (s *Scenario) schema() *schema.Schema {
	return formSchema(s, false, workloadForm(s), fabricForm(s))
}

// findKind returns the kind of that name, nil if there is none.
func findKind(section, name string) *kind {
	for _, k := range kinds() {
		if k.section == section && k.name == name {
			return k
		}
	}
	return nil
}

// kindsWhere returns the names of the kinds of a section for which ok holds, in the order of the table.
func kindsWhere(section string, ok func(k *kind) bool) (names []string) {
	for _, k := range kinds() {
		if k.section == section && ok(k) {
			names = append(names, k.name)
		}
	}
	return names
}

// workload returns the kind of the workload of s, nil if it has none.
func (s *Scenario) workload() *kind { return findKind("workload", s.Workload.Kind) }

// workloadForm returns the workload of s in the form for its fabric, nil if it has none.
func workloadForm(s *Scenario) *form {
	k := s.workload()
	if k == nil {
		return nil
	}
	if fabric := fabricForm(s); fabric != nil {
		for _, f := range slices.Backward(k.forms) {
			if slices.Contains(f.acceptedCarriers, fabric.carrier) && (f.when == nil || f.when(s)) {
				return f
			}
		}
	}
	return k.forms[0]
}

// fabricForm returns the fabric of s in the form that its keys ask for, nil if it has none.
func fabricForm(s *Scenario) *form {
	if k := findKind("fabric", s.Fabric.Kind); k != nil {
		for _, f := range k.forms {
			if f.when == nil || f.when(s) {
				return f
			}
		}
	}
	return nil
}

// carrier returns what the fabric of s carries work on, 0 if it has none.
func (s *Scenario) carrier() carrier {
	if f := fabricForm(s); f != nil {
		return f.carrier
	}
	return 0
}

// isTraining reports whether the workload of s is a training step.
func (s *Scenario) isTraining() bool {
	f := workloadForm(s)
	return f != nil && f.isTraining
}

// canSimulate reports whether the fabric of s simulates a workload.
func (s *Scenario) canSimulate(workload *form) bool {
	return slices.Contains(workload.acceptedCarriers, s.carrier())
}

// supports reports whether fabrics that offer o simulate a workload in some form, or some form of a fabric offers o.
func (k *kind) supports(needed carrier) bool {
	return slices.ContainsFunc(k.forms, func(f *form) bool { return f.carrier == needed || slices.Contains(f.acceptedCarriers, needed) })
}

// isTraining reports whether the workload is a training step on links.
func (k *kind) isTraining() bool { return len(k.forms) > 0 && k.forms[0].isTraining }

// usesDimensions reports whether the workload of s refers to dimensions of the fabric.
func (s *Scenario) usesDimensions() bool {
	k := s.workload()
	return k != nil && k.usesDimensions != nil && k.usesDimensions(s)
}

// requirement words what a workload needs that not all fabrics offer, "" if that is not worth a word.
func (k *kind) requirement(s *Scenario) string {
	switch {
	case k.usesDimensions != nil && k.usesDimensions(s):
		return "dimensions"
	case k.supports(linkCarrier) && !k.supports(circuitCarrier):
		return "links that are there before circuits are decided"
	}
	return ""
}

// fabrics returns the fabrics that simulate a workload, of a fabric itself.
func (f *form) fabrics() []string {
	if f.section == "fabric" {
		return []string{f.name}
	}
	return kindsWhere("fabric", func(k *kind) bool { return slices.ContainsFunc(f.acceptedCarriers, k.supports) })
}

// specialFabrics returns the fabrics for which a workload has a form of its own; nil of its general form, and of fabrics.
func (f *form) specialFabrics() []string {
	if f.section == "fabric" || slices.Contains(f.acceptedCarriers, linkCarrier) {
		return nil
	}
	return f.fabrics()
}

// rejectForeignKey words what is wrong with a key or table that the kinds of s do not have and others do; nil where these do
// not either.
func (s *Scenario) rejectForeignKey(path, name string) *schema.Rejection {
	key := schema.JoinPath(path, name)
	if flag, ok := outputKeys[key]; ok {
		return &schema.Rejection{Problem: "names an output, which no key does any more", Remedy: "leave it out, and give sim run " + flag}
	}
	var users []*form
	one := *s
	resolve := one.tagNames(false)
	for _, f := range allForms() {
		if one.Workload.Kind = s.Workload.Kind; f.section == "workload" {
			one.Workload.Kind = f.name
		}
		if f.hasKey(&one, resolve, key) {
			users = append(users, f)
		}
	}
	if len(users) == 0 {
		return nil
	}
	section, kindName := "fabric", s.Fabric.Kind // whose kinds have the tables of policies too
	if first, _, _ := strings.Cut(key, "."); first == "workload" {
		section, kindName = first, s.Workload.Kind
	}
	user := section + " " + schema.Quote(kindName)
	var names, fabrics, here []string
	add := func(list *[]string, name string) {
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	for _, k := range users {
		add(&names, k.name)
		for _, f := range k.fabrics() {
			if add(&fabrics, f); f == s.Fabric.Kind {
				add(&here, k.name)
			}
		}
	}
	want := "leave it out: it is of workloads on fabric " + schema.QuotedList(fabrics)
	switch one := fabricForm(s); {
	case one != nil && one.qualifier != "" && (section == "fabric" && slices.Contains(names, kindName) || section == "workload" && slices.Contains(here, kindName)):
		user = "fabric " + schema.Quote(one.name) + " " + one.qualifier
		want = "leave it out: it is not of one " + one.qualifier
	case section == "fabric":
		want = "leave it out: it is of fabric " + schema.QuotedList(names)
	case len(here) > 0:
		want = "leave it out, or set workload.kind = " + schema.QuotedList(here)
	case len(names) < 3:
		want = "leave it out: it is of workload " + schema.QuotedList(names) + " on fabric " + schema.QuotedList(fabrics)
	}
	if section == "workload" && slices.Contains(names, kindName) && !slices.Contains(here, kindName) {
		user += " on fabric " + schema.Quote(s.Fabric.Kind)
	}
	return &schema.Rejection{Problem: cmp.Or(s.foreignDecision(key), "is not used by "+user), Remedy: want}
}

// hasKey reports whether a form has a key or table where s is of that kind and the key's use depends on the kind of
// workload alone.
func (f *form) hasKey(s *Scenario, names *schema.Names, path string) bool {
	tables := schema.New(names, f.parts(s)...)
	if slices.ContainsFunc(tables.Tables, func(t *schema.Table) bool { return isWithin(t.Path, path) }) {
		return true
	}
	key := tables.Key(path)
	if key == nil {
		return false
	}
	when := key.UseCondition()
	return when == nil || slices.ContainsFunc(when.Keys, func(dep string) bool { return dep != "workload.kind" }) || when.Holds()
}
