package scenarios

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"sim/scenarios/schema"
)

// kind describes a sort of workload or fabric: a row of kinds.
type kind struct {
	section string // "workload" or "fabric"
	name    string
	doc     string
	on      string                 // of a workload: the only fabric that simulates it, "" if several do
	when    func(s *Scenario) bool // of a fabric, or a workload on one: whether s is of this row, of several of its name; nil is always
	calls   bool                   // it is a collective call, which an algorithm expands
	needs   string                 // of a workload: what hardware must have for it that not all has
	trains  bool                   // it is a training step, with a model and its parallelism
	ranks   bool                   // it is other work of ranks, which any fabric with endpoints simulates
	which   string                 // of a fabric: tells it from others of its name, "" where there are none
	decides string                 // of a fabric: the decision that it leaves open, whose policies are compared
	refuses string                 // of a fabric: which workload it does not simulate, and what would be right
	// parts are its tables, bound to what they set in s. The first is its section.
	parts   func(s *Scenario) []schema.Part
	prepare func(c *checker) // after reading, before defaults; may be nil
	check   func(c *checker) // cross-checks, when all keys have values; may be nil
}

// kinds are all known kinds, which nobody changes.
func kinds() []*kind {
	known.kindsOnce.Do(func() { known.kinds = listKinds() })
	return known.kinds
}

// known is what all scenarios share, which nobody changes.
var known struct {
	kindsOnce, choicesOnce, decisionsOnce, readersOnce sync.Once

	kinds     []*kind
	decisions []decision
	readers   map[string]*reading
	choices   map[string]schema.Choices
}

func listKinds() []*kind {
	return slices.Concat(
		[]*kind{{
			section: "workload", name: "training", trains: true,
			doc:   "One training step of a model under pipeline, tensor, expert and data parallelism.",
			parts: trainingParts, prepare: prepareTraining, check: checkTraining,
		}},
		workKinds(),
		traceKinds(),
		trafficKinds(),
		callKinds(),
		[]*kind{
			{
				section: "fabric", name: "ocs-pods", decides: "allocators", doc: "Pods of GPUs joined by optical circuit switches.",
				refuses: `workload %s; set workload.kind = "training", "all-to-all", "matrix" or a collective such as "all-reduce", or fabric.kind = "torus"`,
				parts:   ocsPodsParts, prepare: prepareReplay, check: func(c *checker) { checkOCSPods(c); checkReplay(c) },
			},
			{
				section: "fabric", name: "torus", decides: "routers", doc: "A torus or mesh of chips, whose wrap-around links may be twisted and may pass optical switches.",
				parts: torusParts, check: checkTorus, refuses: notOnLinks,
			},
			{
				section: "fabric", name: "graph", decides: "routers", doc: "Any nodes and directed links.",
				parts: graphParts, prepare: prepareGraph, check: checkGraph, refuses: notOnLinks,
			},
			{
				section: "fabric", name: "electrical", decides: "routers", doc: "GPUs behind an electrical switch that does not block, such as a domain of eight or seventy-two.",
				parts: electricalParts, check: checkElectrical, refuses: notOnLinks,
			},
			tierKind(),
		},
		podTrafficKinds(),
		scaleUpKinds(),
		fleetKinds())
}

const notOnLinks = `%s; set fabric.kind = "scaleup", or workload.kind to traffic such as "all-to-all" or "nearest-neighbour", or a collective such as "all-reduce"`

// sections are the tables that have a key kind.
var sections = []string{"workload", "fabric"}

// general describes the keys outside any kind.
func general(s *Scenario) schema.Part {
	return schema.Part{Doc: "What stands before the first table.", Specs: []any{s}}
}

// schemaOf returns the tables of some kinds, bound to s, below the general keys.
func schemaOf(s *Scenario, several bool, of ...*kind) *schema.Schema {
	parts := []schema.Part{general(s)}
	for _, k := range of {
		if k != nil {
			parts = append(parts, k.parts(s)...)
		}
	}
	return schema.New(s.names(several), parts...)
}

// schema returns the tables of the kinds of s, bound to it, in the order of writing.
func (s *Scenario) schema() *schema.Schema {
	return schemaOf(s, false, workloadOn(s), fabricOf(s))
}

// findKind returns the kind of that name, nil if there is none; of a workload that has keys of its own on one fabric,
// the one that others simulate.
func findKind(section, name string) *kind {
	for _, k := range kinds() {
		if k.section == section && k.name == name {
			return k
		}
	}
	return nil
}

// workloadOn returns the kind of the workload of s as its fabric simulates it.
func workloadOn(s *Scenario) *kind {
	for _, k := range kinds() {
		if k.section == "workload" && k.name == s.Workload.Kind && k.on != "" && k.on == s.Fabric.Kind && (k.when == nil || k.when(s)) {
			return k
		}
	}
	return findKind("workload", s.Workload.Kind)
}

// fabricOf returns the kind of the fabric of s.
func fabricOf(s *Scenario) *kind {
	for _, k := range kinds() {
		if k.section == "fabric" && k.name == s.Fabric.Kind && (k.when == nil || k.when(s)) {
			return k
		}
	}
	return nil
}

// trains reports whether the workload of s is a training step.
func (s *Scenario) trains() bool {
	k := workloadOn(s)
	return k != nil && k.trains
}

// simulates reports whether the fabric of s simulates a workload.
func (s *Scenario) simulates(workload *kind) bool {
	return slices.Contains(workload.playedOn(), s.Fabric.Kind)
}

// playedOn returns the fabrics that simulate a workload.
func (k *kind) playedOn() []string {
	switch {
	case k.section == "fabric":
		return []string{k.name}
	case k.on != "":
		return []string{k.on}
	case k.trains, k.calls, k.ranks:
		return []string{"ocs-pods", "torus", "graph", "electrical", "scaleup"}
	}
	return []string{"torus", "graph", "electrical", "scaleup"}
}

// elsewhere words what is wrong with a key or table that the kinds of s do not have and others do; nil where these do
// not either.
func (s *Scenario) elsewhere(path, name string) *schema.Wrong {
	at := schema.JoinPath(path, name)
	if flag, ok := outputKeys[at]; ok {
		return &schema.Wrong{Problem: "names an output, which no key does any more", Remedy: "leave it out, and give sim run " + flag}
	}
	var users []*kind
	one := *s
	resolve := one.names(false)
	for _, k := range kinds() {
		if one.Workload.Kind = s.Workload.Kind; k.section == "workload" {
			one.Workload.Kind = k.name
		}
		if k.has(&one, resolve, at) {
			users = append(users, k)
		}
	}
	if len(users) == 0 {
		return nil
	}
	section, of := "fabric", s.Fabric.Kind // whose kinds have the tables of policies too
	if first, _, _ := strings.Cut(at, "."); first == "workload" {
		section, of = first, s.Workload.Kind
	}
	by := section + " " + schema.Quote(of)
	var names, fabrics, here []string
	add := func(list *[]string, name string) {
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	for _, k := range users {
		add(&names, k.name)
		for _, f := range k.playedOn() {
			if add(&fabrics, f); f == s.Fabric.Kind {
				add(&here, k.name)
			}
		}
	}
	want := "leave it out: it is of workloads on fabric " + schema.QuotedList(fabrics)
	switch one := fabricOf(s); {
	case one != nil && one.which != "" && (section == "fabric" && slices.Contains(names, of) || section == "workload" && slices.Contains(here, of)):
		by = "fabric " + schema.Quote(one.name) + " " + one.which
		want = "leave it out: it is not of one " + one.which
	case section == "fabric":
		want = "leave it out: it is of fabric " + schema.QuotedList(names)
	case len(here) > 0:
		want = "leave it out, or set workload.kind = " + schema.QuotedList(here)
	case len(names) < 3:
		want = "leave it out: it is of workload " + schema.QuotedList(names) + " on fabric " + schema.QuotedList(fabrics)
	}
	if section == "workload" && slices.Contains(names, of) && !slices.Contains(here, of) {
		by += " on fabric " + schema.Quote(s.Fabric.Kind)
	}
	return &schema.Wrong{Problem: cmp.Or(s.undecided(at), "is not used by "+by), Remedy: want}
}

// has reports whether a kind has a key or table where s is of that kind and the key's use depends on the kind of
// workload alone.
func (k *kind) has(s *Scenario, names *schema.Names, at string) bool {
	tables := schema.New(names, k.parts(s)...)
	if slices.ContainsFunc(tables.Tables, func(t *schema.Table) bool { return under(t.Path, at) }) {
		return true
	}
	key := tables.Key(at)
	if key == nil {
		return false
	}
	when := key.Used()
	return when == nil || slices.ContainsFunc(when.Keys, func(dep string) bool { return dep != "workload.kind" }) || when.OK()
}
