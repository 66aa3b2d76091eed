// This file defines the table of workloads and fabrics. A kind has one or more forms; a
// form has the tables of keys, the checks, and for a fabric the functions that build its
// systems. The rows are in the files kind_*.go.

package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sim/scenarios/assembly/calls"
	"sim/scenarios/schema"
)

// kind is a kind of workload or fabric, such as "training" or "torus": a row of the table
// that listKinds returns.
type kind struct {
	section string // "workload" or "fabric"
	name    string // value of the key kind
	// forms describe the keys and checks of the kind. A workload has several forms if its
	// keys depend on the fabric; a fabric has several if they depend on other keys. The
	// first form is used if no other one applies.
	forms []*form
	// remedy returns the remedy for a name that people write instead of the kind's, such as the
	// name of a machine, or "" for other names. It may be nil.
	remedy func(c *checker, name string) string

	// keyGroups are groups of optional keys that the workload uses. A key is in a group by
	// its tag when:"workload(GROUP)".
	keyGroups []string
	// rankWork returns the work of the ranks, independent of the hardware. It is nil if the
	// workload has no ranks.
	rankWork    func(s *Scenario) calls.Work
	hasMappings bool // mappings can place the ranks, by their dimensions of parallelism
	// usesDimensions reports whether s refers to dimensions of the fabric, such as a ring
	// along x. It may be nil for false.
	usesDimensions func(s *Scenario) bool

	// Of fabrics.
	hasCoordinates bool   // nodes have coordinates, so the fabric has dimensions
	sizeKey        string // key of [fabric] for the number of GPUs that a tier joins
	formKey        string // path of the key whose value selects the form; "" if the kind has one form
	canBeInner     bool   // the fabric can be a tier inside others
	canBeOuter     bool   // the fabric can be the outermost tier
	canBeShared    bool   // several jobs can share the fabric
}

// form describes the keys and checks that a kind has in some scenarios.
type form struct {
	*kind
	doc string // one sentence for sim list and the reference
	// when reports whether s has this form. It may be nil for true.
	when func(s *Scenario) bool
	// parts returns the tables of the form, bound to the fields of s that they set. The
	// first table is [workload] or [fabric]; listKinds adds the key "kind" to it.
	parts func(s *Scenario) []schema.Part
	// prepare runs after the keys are read and before defaults are applied. It may be nil.
	prepare func(c *checker)
	// expand sets fields that follow from the keys, when all keys of the form have values. It runs
	// before all checks and may be nil.
	expand func(c *checker)
	// check checks keys against each other, when all keys have values. It may be nil.
	check func(c *checker)

	// Of workloads.
	acceptedCarriers []carrier // the fabric must have one of these carriers
	onlyFabric       string    // kind of the only fabric of the form; "" means all with a carrier
	isTraining       bool      // a training step of a model with its parallelism
	isCall           bool      // a collective call that an algorithm expands
	canBeCall        bool      // a collective call if an algorithm is named
	// checkOnPods checks the work against pods. It is nil for training steps whose stages fill
	// pods, and for work that pods do not carry.
	checkOnPods func(c *checker)

	// Of fabrics.
	carrier   carrier // the carrier that the fabric offers
	qualifier string  // distinguishes the form from other forms of the fabric; may be empty
	policyKey string  // decision.policyKey of the decision that the fabric leaves open
	*hardware
	// unsupportedFormat is the diagnostic for workloads that the fabric does not simulate:
	// "%s; REMEDY", with the name of the workload for %s.
	unsupportedFormat string
}

// carrier is the part of a fabric that carries a workload. A fabric simulates a workload if
// its carrier is one of form.acceptedCarriers.
type carrier uint8

const (
	// linkCarrier is a set of links that exist before the work begins.
	linkCarrier carrier = iota + 1
	// circuitCarrier is a set of pods joined by circuits, which are decided for the work.
	circuitCarrier
	// planCarrier is a set of optical switches, whose topologies are planned together with
	// an exchange.
	planCarrier
	// cubeCarrier is a set of cubes of chips. Jobs get slices of them.
	cubeCarrier
)

// kinds returns all kinds, workloads before fabrics. The result is shared and must not be
// changed.
func kinds() []*kind {
	registry.kindsOnce.Do(func() { registry.kinds = listKinds() })
	return registry.kinds
}

// registry holds tables that are computed once and shared by all scenarios. Nothing changes
// them afterwards.
var registry struct {
	kindsOnce, choicesOnce, decisionsOnce, readersOnce sync.Once

	kinds     []*kind
	decisions []decision
	readers   map[string]*optionReaders
	choices   map[string]schema.Choices
}

// listKinds builds the table of kinds. It links each form to its kind and adds the key
// "kind" to the form's first table.
func listKinds() []*kind {
	workloads := slices.Concat(
		[]*kind{trainingKind()}, programKinds(), []*kind{traceKind()}, trafficKinds(), callKinds(),
		[]*kind{fleetKind()},
	)
	fabrics := []*kind{
		ocsPodsKind(),
		torusKind(),
		graphKind(),
		clusterKind(),
		electricalKind(),
		tierKind(),
		scaleUpKind(),
		cubesKind(),
	}
	all := append(workloads, fabrics...)

	// Determine the section of each kind and bind the key "kind" to its first table.
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

// unsupportedOnLinks is the unsupportedFormat of fabrics of links.
const unsupportedOnLinks = `%s; set fabric.kind = "scaleup", or workload.kind to traffic such as "all-to-all" or "nearest-neighbour", or a collective such as "all-reduce"`

// sections are the tables with a key "kind".
var sections = []string{"workload", "fabric"}

// generalPart describes the keys outside tables, such as name and seed.
func generalPart(s *Scenario) schema.Part {
	return schema.Part{Doc: "Keys before the first table.", Specs: []any{s}}
}

// Values of the argument severalJobs of formSchema and tagNames.
const (
	forOneJob      = false // the file describes one job
	forSeveralJobs = true  // the file has a table [[job]]
)

// formSchema returns the general keys and the tables of sectionForms, bound to s. A form
// may be nil. severalJobs selects the conditions of keys in a file with [[job]].
func formSchema(s *Scenario, severalJobs bool, sectionForms ...*form) *schema.Schema {
	parts := []schema.Part{generalPart(s)}
	for _, f := range sectionForms {
		if f != nil {
			parts = append(parts, f.parts(s)...)
		}
	}
	return schema.New(s.tagNames(severalJobs), parts...)
}

// schema returns the tables of the kinds of s, bound to s, in the order in which TOML
// writes them.
func (s *Scenario) schema() *schema.Schema {
	return formSchema(s, forOneJob, workloadForm(s), fabricForm(s))
}

// findKind returns the kind of a section by its name, or nil.
func findKind(section, name string) *kind {
	for _, k := range kinds() {
		if k.section == section && k.name == name {
			return k
		}
	}
	return nil
}

// kindsWhere returns the names of the kinds of a section that satisfy ok, in the order of
// the table.
func kindsWhere(section string, ok func(k *kind) bool) (names []string) {
	for _, k := range kinds() {
		if k.section == section && ok(k) {
			names = append(names, k.name)
		}
	}
	return names
}

// workload returns the kind of the workload of s, or nil.
func (s *Scenario) workload() *kind { return findKind("workload", s.Workload.Kind) }

// workloadForm returns the form of the workload of s on its fabric, or nil if s has no
// known workload. Later forms of the kind take precedence over its first, general form.
func workloadForm(s *Scenario) *form {
	k := s.workload()
	if k == nil {
		return nil
	}

	// Prefer the last form, since the first one is general.
	if fabric := fabricForm(s); fabric != nil {
		for _, f := range slices.Backward(k.forms) {
			isOfFabric := f.onlyFabric == "" || f.onlyFabric == fabric.name
			if slices.Contains(f.acceptedCarriers, fabric.carrier) && isOfFabric && (f.when == nil || f.when(s)) {
				return f
			}
		}
	}
	return k.forms[0]
}

// fabricForm returns the form of the fabric of s that its keys select, or nil.
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

// formKeys returns the paths of all keys whose values select a kind or a form.
func formKeys() (paths []string) {
	for _, section := range sections {
		paths = append(paths, schema.JoinPath(section, "kind"))
	}
	for _, k := range kinds() {
		if k.formKey != "" {
			paths = append(paths, k.formKey)
		}
	}
	return paths
}

// carrier returns the carrier of the fabric of s, or 0 if the fabric is unknown.
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

// canSimulate reports whether the fabric of s carries the workload.
func (s *Scenario) canSimulate(workload *form) bool {
	return slices.Contains(workload.acceptedCarriers, s.carrier())
}

// supports reports whether one form of the workload accepts the carrier, or one form of the
// fabric has it.
func (k *kind) supports(needed carrier) bool {
	return slices.ContainsFunc(
		k.forms,
		func(f *form) bool { return f.carrier == needed || slices.Contains(f.acceptedCarriers, needed) },
	)
}

// isTraining reports whether the general form of the workload is a training step.
func (k *kind) isTraining() bool { return len(k.forms) > 0 && k.forms[0].isTraining }

// usesDimensions reports whether the workload of s refers to dimensions of the fabric.
func (s *Scenario) usesDimensions() bool {
	k := s.workload()
	return k != nil && k.usesDimensions != nil && k.usesDimensions(s)
}

// requirement describes for a diagnostic which feature of a fabric the workload requires.
// It returns "" if nearly every fabric has the feature.
func (k *kind) requirement(s *Scenario) string {
	switch {
	case k.usesDimensions != nil && k.usesDimensions(s):
		return "dimensions"

	// Packets with random destinations, for example, give circuits nothing to serve.
	case k.supports(linkCarrier) && !k.supports(circuitCarrier):
		return "links that are there before circuits are decided"
	}
	return ""
}

// fabrics returns the names of the fabrics that simulate a workload; for the form of a
// fabric, that fabric.
func (f *form) fabrics() []string {
	switch {
	case f.section == "fabric":
		return []string{f.name}
	case f.onlyFabric != "":
		return []string{f.onlyFabric}
	}
	return kindsWhere(
		"fabric",
		func(k *kind) bool { return slices.ContainsFunc(f.acceptedCarriers, k.supports) },
	)
}

// specialFabrics returns the fabrics for which a workload has a separate form. It returns
// nil for the general form of a workload and for fabrics.
func (f *form) specialFabrics() []string {
	if f.section == "fabric" || slices.Contains(f.acceptedCarriers, linkCarrier) {
		return nil
	}
	return f.fabrics()
}

// rejectForeignKey explains why a key or table is not used by the kinds of s although other
// kinds have it. path is the table, and name the key or table in it. It returns nil if no
// kind has the name.
//
// The remedy names the kinds that have the key: fabrics for a key of [fabric] or [policy],
// and workloads on this fabric, if there are any, for a key of [workload].
func (s *Scenario) rejectForeignKey(path, name string) *schema.Rejection {
	key := schema.JoinPath(path, name)
	if flag, ok := outputKeys[key]; ok {
		return &schema.Rejection{
			Problem: "names an output, which no key does any more",
			Remedy:  "leave it out, and give sim run " + flag,
		}
	}

	// Find the forms that have the key, each tried as the workload of a copy of s.
	var users []*form
	one := *s
	resolve := one.tagNames(forOneJob)
	for _, f := range allForms() {
		if one.Workload.Kind = s.Workload.Kind; f.section == "workload" {
			one.Workload.Kind = f.name
		}
		if f.hasKey(&one, resolve, key) {
			users = append(users, f)
		}
	}

	if len(users) == 0 {
		if path == "fabric" && slices.Contains(routingNames, name) {
			return &schema.Rejection{
				Problem: "unknown key",
				Remedy:  fmt.Sprintf("write [policy] with %s = [...]", s.fabricDecision().policyKey),
			}
		}
		return nil
	}

	// Tables of policies belong to kinds of fabrics.
	section, kindName := "fabric", s.Fabric.Kind
	if first, _, _ := strings.Cut(key, "."); first == "workload" {
		section, kindName = first, s.Workload.Kind
	}
	user := section + " " + schema.Quote(kindName)

	// names are the kinds with the key, fabrics the fabrics that simulate them, and here
	// the workloads among them that the fabric of s simulates.
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

	// The most specific remedy that applies is chosen.
	want := "leave it out: it is of workloads on fabric " + schema.QuotedList(fabrics)
	switch one := fabricForm(s); {
	case one != nil &&
		one.qualifier != "" &&
		(section == "fabric" && slices.Contains(names, kindName) ||
			section == "workload" && slices.Contains(here, kindName)):
		user = "fabric " + schema.Quote(one.name) + " " + one.qualifier
		want = "leave it out: it is not of one " + one.qualifier
	case section == "fabric":
		want = "leave it out: it is of fabric " + schema.QuotedList(names)
	case len(here) > 0:
		want = "leave it out, or set workload.kind = " + schema.QuotedList(here)
	case len(names) < 3:
		want = "leave it out: it is of workload " + schema.QuotedList(names) +
			" on fabric " + schema.QuotedList(fabrics)
	}

	if section == "workload" && slices.Contains(names, kindName) && !slices.Contains(here, kindName) {
		user += " on fabric " + schema.Quote(s.Fabric.Kind)
	}
	return &schema.Rejection{Problem: cmp.Or(s.foreignDecision(key), "is not used by "+user), Remedy: want}
}

// hasKey reports whether the form has a table or key at path if s has the form's kind. A
// key counts unless its condition depends on workload.kind alone and does not hold.
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
	return when == nil ||
		slices.ContainsFunc(when.Keys, func(dep string) bool { return dep != "workload.kind" }) ||
		when.Holds()
}
