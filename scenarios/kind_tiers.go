package scenarios

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sim/fabric/links"
	"sim/policies/collective"
	"sim/policies/reconfigure"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/calls"
	"sim/scenarios/assembly/composition"
	"sim/scenarios/assembly/inner"
	"sim/scenarios/assembly/input"
	"sim/scenarios/assembly/paths"
	"sim/scenarios/schema"
	"sim/workloads/training"
)

// Tier is an inner tier of the fabric: what is said of it, and a scenario of its fabric by itself.
type Tier struct {
	inner.Keys
	Alone *Scenario
}

const (
	tiersKind = "tiers"
	tierPath  = "fabric.tier"
	mostTiers = 8
)

// tierKind describes the fabric "tiers". A scenario of it is read as one of its outermost tier with others inside.
func tierKind() *kind {
	return &kind{name: tiersKind, forms: []*form{{
		decides: "allocators", hardware: podHardware(),
		doc: "One fabric inside another: `[[fabric.tier]]` from the inside out, each with the keys of its kind. What the outermost leaves open is decided. " +
			"Of pods gpus_per_pod_per_replica is what the tier inside joins.",
		parts: func(s *Scenario) []schema.Part {
			return []schema.Part{
				{Path: "fabric", Doc: "The kind of fabric."},
				{Path: tierPath, Doc: "A tier, innermost first.", Specs: []any{&[]inner.Keys{{}}}, NestedTables: tierKeys()},
			}
		},
		refuses: notOnLinks,
	}}}
}

// tierKeys are the keys that some kind of tier has.
func tierKeys() (names []string) {
	s := &Scenario{}
	for _, k := range forms() {
		if !k.inner && !k.outer {
			continue
		}
		for _, t := range schema.New(s.names(false), k.parts(s)...).Tables {
			if t.Path == "fabric" {
				names = append(names, t.Names()...)
			}
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "kind" })
}

// tiered reports whether the file describes tiers.
func (c *checker) tiered() bool { return schema.Child(c.Root, "fabric")["kind"] == tiersKind }

// resolveTiers checks a scenario of tiers: each inner one by itself, and the step on the outermost; then what holds
// between them.
func (c *checker) resolveTiers() {
	fabric := schema.Child(c.Root, "fabric")
	for _, name := range slices.Sorted(maps.Keys(fabric)) {
		if name != "kind" && name != "tier" {
			c.refuse("fabric."+name, `is not used by fabric "tiers"; write it in the [[fabric.tier]] that it is of`)
		}
	}
	rows := schema.Rows(fabric["tier"])
	if len(rows) == 0 || len(rows) > mostTiers {
		c.refuse(tierPath, "stands %d times; write 1 to %d tables [[fabric.tier]], the innermost first", len(rows), mostTiers)
		return
	}
	var keys []inner.Keys
	c.Schema = schema.New(c.s.names(false), schema.Part{Path: tierPath, Specs: []any{&keys}, NestedTables: tierKeys()})
	c.ReadTable(tierPath, fabric["tier"])
	c.ApplyDefaults()
	work := schema.Child(c.Root, "workload")
	joint := !kindIn(c.Root, "workload").trains() || work["collectives"] == training.CollectivesInGraph
	planned := func(i int) bool {
		k := findKind("fabric", keys[i].Kind)
		return k != nil && k.on(onPlans) && rows[i]["topology"] == nil
	}
	for i := range rows {
		may, where := kindsWhere("fabric", func(k *kind) bool { return k.inner }), "inner tier"
		if i == len(rows)-1 {
			may, where = kindsWhere("fabric", func(k *kind) bool { return k.outer }), "outermost tier"
		}
		at := fmt.Sprintf("%s.%d.", tierPath, i)
		if kind := keys[i].Kind; c.OK(at+"kind") && c.Given(at+"kind") && !slices.Contains(may, kind) {
			c.refuse(at+"kind", "%s is no %s; choose from %s", schema.Quote(kind), where, schema.QuotedList(may))
		}
		c.tierOptions(at, planned(i), i == len(rows)-1, joint)
	}
	if len(c.Diagnostics) > 0 {
		return
	}
	last := len(rows) - 1
	level := "flow" // at which tiers have no queues
	if at := schema.Child(c.Root, "engine")["level"]; joint && !findKind("fabric", keys[last].Kind).on(onCircuits) && (at == nil || at == "packet") {
		level = "packet"
	}
	for i, row := range rows[:last] {
		sub := c.tierChecker("tier", i, row)
		sub.Overrides, sub.Varied = maps.Clone(c.Overrides), maps.Clone(c.Varied) // of policies are the outermost tier's
		maps.DeleteFunc(sub.Overrides, func(at string, _ bool) bool { return !under(at, tierPath) })
		maps.DeleteFunc(sub.Varied, func(at string, _ schema.Origin) bool { return !under(at, tierPath) })
		if findKind("fabric", keys[i].Kind).on(onPlans) && reconfigure.ByName(keys[i].Planner).Given {
			c.refuse(fmt.Sprintf("%s.%d.planner", tierPath, i), "%s has plans from a file, of all-to-alls that no call of the step is; choose another planner", schema.Quote(keys[i].Planner))
			continue
		}
		sub.Root["workload"] = map[string]any{"kind": paths.Kinds()[0].Name, "message": "1KB"}
		sub.Root["engine"] = map[string]any{"level": level}
		if planned(i) {
			sub.Root["engine"] = map[string]any{"level": "cost"}
			sub.Root["policy"] = map[string]any{"planners": []any{keys[i].Planner}}
		}
		sub.resolve()
		c.take(sub)
		c.s.Tiers = append(c.s.Tiers, Tier{keys[i], sub.s})
	}
	outer := c.tierChecker(c.s.Name, last, rows[last])
	for name, v := range c.Root {
		if name != "fabric" {
			outer.Root[name] = v
		}
	}
	held := func() {}
	if outer.cell, outer.tiers = c.cell, &held; len(c.Diagnostics) == 0 {
		outer.s.Tiers = c.s.Tiers
	}
	if outer.resolve(); len(outer.Diagnostics) == 0 && len(c.Diagnostics) == 0 {
		if outer.checkTiers(); len(outer.Diagnostics) == 0 {
			held()
		}
		if len(outer.Diagnostics) == 0 && outer.s.trains() {
			checkFlows(outer)
			checkLength(outer)
		}
	}
	c.take(outer)
	outer.s.Tiers = c.s.Tiers
	*c.s = *outer.s
}

// take adds what another checker found wrong, and its files.
func (c *checker) take(sub *checker) {
	c.Diagnostics, c.inputs = append(c.Diagnostics, sub.Diagnostics...), append(c.inputs, sub.inputs...)
}

// tierNames are the keys of tiers beside those of their kinds.
var tierNames = []string{"collective", "planner", "chunk", "known_ahead"}

// tierOptions refuses options that a tier, which planners plan or not, does not use.
func (c *checker) tierOptions(at string, planned, outermost, joint bool) {
	for _, name := range tierNames {
		used := !outermost && planned == (name != "collective")
		switch {
		case !c.Given(at + name):
		case used && name == "collective" && joint:
			c.refuse(at+name, "is not used where all tiers are simulated together; set policy.collective")
		case !used:
			c.refuse(at+name, "is not used by this tier; leave it out: it is of inner tiers %s", map[bool]string{true: "of links", false: `"scaleup" that reconfigure`}[name == "collective"])
		}
	}
}

// tierChecker returns what checks a tier as the fabric of a scenario of its own.
func (c *checker) tierChecker(name string, i int, row map[string]any) *checker {
	own := maps.Clone(row)
	for _, name := range tierNames {
		delete(own, name)
	}
	sub := newChecker(name, map[string]any{"fabric": own}, c.Layers, c.s.files)
	sub.Varied, sub.Overrides = c.Varied, c.Overrides
	plain := sub.Reader.FilePath
	sub.Reader.FilePath = func(path string) string {
		if rest, ok := strings.CutPrefix(path, "fabric."); ok {
			return fmt.Sprintf("%s.%d.%s", tierPath, i, rest)
		}
		return plain(path)
	}
	return sub
}

// jointly reports whether the work of s is simulated on the network of all tiers together, as all but a step is whose
// calls lengthen its passes.
func (s *Scenario) jointly() bool { return len(s.Tiers) > 0 && (!s.trains() || s.stepCalls()) }

// inside returns the inner tiers, which are links; nil where some are none, which is refused.
func (s *Scenario) inside() (all []*links.Links) {
	for i := range s.Tiers {
		if s.Tiers[i].Alone.plans() {
			return nil
		}
		all = append(all, &s.Tiers[i].Alone.Fabric.Links)
	}
	return all
}

// checkTiers holds the tiers against each other and the work, from the outermost.
func (c *checker) checkTiers() {
	s := c.s
	t := &s.Workload.Spec
	at := func(i int) string {
		return fmt.Sprintf("%s.%d.%s", tierPath, i, findKind("fabric", s.Tiers[i].Kind).size)
	}
	refuse := func(key, format string, args ...any) {
		problem, remedy := worded(format, args)
		plain := c.Reader.FilePath
		c.Reader.FilePath = func(p string) string { return p }
		c.Add(key, problem, remedy)
		c.Reader.FilePath = plain
	}
	stage, inside, joint := t.StageGPUs(), 1, s.jointly()
	for i := range s.Tiers {
		kind, n := fmt.Sprintf("%s.%d.kind", tierPath, i), s.innerTier(i).GPUs()
		switch {
		case n <= inside:
			refuse(at(i), "joins %d GPUs, as many as the tier inside or fewer; choose more than %d, or leave the tier out", n, inside)
		case n%inside != 0:
			refuse(at(i), "%d GPUs do not divide into domains of %d, those of the tier inside; choose a multiple of %d", n, inside, inside)
		case joint && s.Tiers[i].Alone.plans():
			refuse(kind, `has links for one all-to-all at a time, which a plan sets up and takes down, and none for transfers that begin when they may; `+
				`give it a topology, which its switches then keep, choose another kind, or a training step without collectives = "graph"`)
		case s.Engine.MessageOverhead > 0 && s.Tiers[i].Alone.plans():
			refuse(kind, "sends in the slots of a plan, in which starting a message takes no time; choose another kind, or leave engine.message_overhead out")
		case !joint && stage%n != 0:
			refuse(at(i), "stages of %d GPUs do not divide into domains of %d; choose a divisor of a stage's GPUs (tp x cp, or etp x ep), or set workload.collectives = \"graph\"", stage, n)
		case s.Tiers[i].Alone.Fabric.Faulty():
			refuse(kind, "parts of inner tiers are down; let only those of the outermost fail")
		}
		inside = n
	}
	if len(c.Diagnostics) > 0 {
		return
	}
	if key, n := "fabric."+findKind("fabric", s.Fabric.Kind).size, s.Fabric.Links.GPUs(); s.routes() && (n <= inside || n%inside != 0) {
		c.clash(key+" fabric.edges fabric.generator", "%d GPUs are not several domains of %d, those of the tier inside; choose a multiple of %d", n, inside, inside)
		return
	}
	if s.leaves().policies == "allocators" && len(s.Tiers) > 0 {
		key, n := "gpus_per_pod_per_replica", s.Fabric.GPUsPerPodPerReplica
		if !s.trains() {
			key, n = "gpus_per_pod", s.Fabric.GPUsPerPod
		}
		if n != inside {
			c.clash("fabric."+key, "pods of %d GPUs, and the tier inside joins %d; set "+key+" = %d", n, inside, inside)
			return
		}
	}
	if joint {
		c.checkJoint()
		return
	}
	c.forbid(s.Replay.Seeds > 0 && s.Replay.Sequence != t.Sequence, "replay.sequence", "passes are longer by the calls of %d tokens; leave it out", t.Sequence)
	if len(c.Diagnostics) > 0 {
		return
	}
	t.HasCopySync = true
	m, err := inner.New(*t, s.callTiers(), s.Seed, 0, -1)
	if err != nil {
		c.blame("fabric.kind", err)
		return
	}
	seen := map[[2]int]bool{}
	for _, pass := range t.ContractedPasses() {
		for v := range t.PP * t.Chunks {
			for _, call := range t.Calls(v, pass) {
				sort := [2]int{int(call.Dim), int(call.Kind)}
				if seen[sort] {
					continue
				}
				seen[sort] = true
				size, tier := len(t.Groups(call, 0, 0)[0]), m.Joins(call)
				key := map[training.Phase]string{training.Tensor: "workload.tp", training.Context: "workload.cp", training.Expert: "workload.ep", training.Sync: "workload.gpus"}[call.Dim]
				if tier < 0 {
					c.clash(key, "a group of %d GPUs is larger than its tier, and no tier outside it carries %v calls of %v; "+
						`choose a smaller group, or a tier that joins it, or set workload.collectives = "graph", by which the outermost carries them`, size, call.Kind, call.Dim)
					return
				}
				if err := m.Unserved(context.Background(), call); err != nil {
					_, why, _ := strings.Cut(err.Error(), collective.ErrUnserved.Error()+": ")
					refuse(fmt.Sprintf("%s.%d.collective", tierPath, tier), `%s does not serve the %v calls of the step: %s; choose another algorithm, or "best"`,
						schema.Quote(s.Tiers[tier].Collective), call.Dim, why)
					return
				}
			}
		}
	}
}

// checkJoint holds the work against tiers on whose network it is all together.
func (c *checker) checkJoint() {
	s := c.s
	c.forbid(s.asksForDimensions(), "workload.kind workload.permutation",
		`asks for dimensions, and tiers have none together; choose other traffic, such as "all-reduce"`)
	for i := range s.Tiers {
		f := &s.Tiers[i].Alone.Fabric
		c.forbid(s.routes() && (f.Queue == "credit") != (s.Fabric.Queue == "credit"), "fabric.queue", `some tiers have queue "credit" and others not; let packets wait for room on all, or on none`)
		c.forbid(s.routes() && f.BitErrors != s.Fabric.BitErrors, "fabric.bit_errors", "%g on the outermost tier and %g on tier %d; write the same for all", s.Fabric.BitErrors, f.BitErrors, i)
	}
}

// innerTier returns inner tier i as the assembly takes it.
func (s *Scenario) innerTier(i int) inner.Tier {
	t := &s.Tiers[i]
	of := inner.Tier{Keys: t.Keys}
	if t.Alone.plans() {
		of.Plans = t.Alone.domain()
	} else {
		of.Links = &t.Alone.Fabric.Links
	}
	return of
}

// callTiers returns the tiers that carry calls: the inner ones, and an outermost one of links.
func (s *Scenario) callTiers() (all []inner.Tier) {
	for i := range s.Tiers {
		t := s.innerTier(i)
		t.MessageOverhead = s.Engine.MessageOverhead
		all = append(all, t)
	}
	return all
}

// onTiers returns what makes a system of a scenario, whose outermost tier's is made by build: with the best algorithms of
// the calls of a training step, if these are looked for, and with passes that are longer by the calls inside inner tiers.
func onTiers(build func(ctx context.Context, in *input.Scenario, workers int) (assembly.System, error)) func(context.Context, *Scenario, int) (assembly.System, error) {
	return func(ctx context.Context, s *Scenario, workers int) (assembly.System, error) {
		tiered := func(ctx context.Context, by calls.Algorithms) (assembly.System, error) {
			s := s.byAlgorithm(string(by))
			outer := func(longer composition.Longer) (assembly.System, error) {
				in := s.input()
				in.Longer = longer
				return build(ctx, in, workers)
			}
			if len(s.Tiers) == 0 || s.jointly() {
				return outer(nil)
			}
			packet := s.Workload.Packet
			if s.Engine.Level != "packet" {
				packet = 0
			}
			return inner.NewSystem(ctx, s.Workload.Spec, s.callTiers(), s.Seed, packet, s.Fabric.Kind, outer)
		}
		by := calls.Algorithms(s.Policy.Calls.Collective)
		if _, open := by.Settled(); !s.stepCalls() || len(open) == 0 {
			return tiered(ctx, by)
		}
		return calls.NewBest(ctx, &s.Workload.Spec, by, tiered)
	}
}

// tiersTOML is TOML of a scenario of tiers.
func (s *Scenario) tiersTOML() []byte {
	var b bytes.Buffer
	write := func(tables *schema.Schema, keys func()) {
		for _, t := range tables.Tables {
			switch {
			case !under(t.Path, "fabric") || !t.When.Applies() || t.IsOmitted():
			case t.Path == "fabric":
				b.WriteString("\n[[" + tierPath + "]]\n")
				t.Write(&b, "")
				keys()
			default:
				t.Write(&b, strings.Replace(t.Path, "fabric", tierPath, 1))
			}
		}
	}
	for _, t := range s.schema().Tables {
		switch {
		case t.Path == "fabric":
			fmt.Fprintf(&b, "\n[fabric]\nkind = %q\n", tiersKind)
			for i := range s.Tiers {
				k := &s.Tiers[i]
				write(k.Alone.schema(), func() {
					if k.Alone.plans() {
						fmt.Fprintf(&b, "planner = %s\nchunk = %s\n", schema.Literal(k.Planner), schema.Literal(k.Chunk))
						if k.KnownAhead != "none" {
							fmt.Fprintf(&b, "known_ahead = %s\n", schema.Literal(k.KnownAhead))
						}
					} else if !s.jointly() {
						fmt.Fprintf(&b, "collective = %s\n", schema.Literal(k.Collective))
					}
				})
			}
			write(s.schema(), func() {})
		case !under(t.Path, "fabric") && t.When.Applies() && !t.IsOmitted():
			t.Write(&b, t.Path)
		}
	}
	return b.Bytes()
}

// tierCollectives are the algorithms that an inner tier may name.
func tierCollectives() []string {
	names := []string{collective.BestName}
	for _, r := range collective.Table {
		names = append(names, r.Name)
	}
	return names
}
