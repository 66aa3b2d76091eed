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

// Tier is an inner tier of the fabric: its keys, and a scenario with the tier as its only
// fabric.
type Tier struct {
	inner.Keys
	Scenario *Scenario
}

// Names and limits of tiers.
const (
	tiersKindName = "tiers"
	tierPath      = "fabric.tier"
	// maxTiers limits the tiers of a fabric. Real systems have three or four.
	maxTiers = 8
)

// tierKind describes the fabric "tiers". A scenario with tiers is read as a scenario of its
// outermost tier, with inner tiers inside.
func tierKind() *kind {
	return &kind{name: tiersKindName, forms: []*form{{
		policyKey: "allocators", hardware: podHardware(),
		doc: "One fabric inside another: `[[fabric.tier]]` from the inside out, each with the keys of its kind. What the outermost leaves open is decided. " +
			"Of pods gpus_per_pod_per_replica is what the tier inside joins.",
		parts: func(s *Scenario) []schema.Part {
			return []schema.Part{
				{Path: "fabric", Doc: "The kind of fabric."},
				{
					Path:         tierPath,
					Doc:          "A tier, innermost first.",
					Specs:        []any{&[]inner.Keys{{}}},
					NestedTables: tierKeys(),
				},
			}
		},
		unsupportedFormat: unsupportedOnLinks,
	}}}
}

// tierKeys returns the keys that at least one kind of tier has, in order.
func tierKeys() (names []string) {
	s := &Scenario{}
	for _, k := range allForms() {
		if !k.canBeInner && !k.canBeOuter {
			continue
		}
		for _, t := range schema.New(s.tagNames(false), k.parts(s)...).Tables {
			if t.Path == "fabric" {
				names = append(names, t.Names()...)
			}
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "kind" })
}

// hasTiers reports whether the file describes tiers.
func (c *checker) hasTiers() bool { return schema.Child(c.Root, "fabric")["kind"] == tiersKindName }

// resolveTiers checks a scenario of tiers: each inner tier as a scenario of its own, the
// workload on the outermost tier, and then the tiers against each other.
func (c *checker) resolveTiers() {
	fabric := schema.Child(c.Root, "fabric")
	for _, name := range slices.Sorted(maps.Keys(fabric)) {
		if name != "kind" && name != "tier" {
			c.rejectf("fabric."+name,
				`is not used by fabric "tiers"; write it in the [[fabric.tier]] that it is of`)
		}
	}

	rows := schema.Rows(fabric["tier"])
	if len(rows) == 0 || len(rows) > maxTiers {
		c.rejectf(tierPath,
			"stands %d times; write 1 to %d tables [[fabric.tier]], the innermost first",
			len(rows), maxTiers)
		return
	}

	// Read the keys that all kinds of tiers have.
	var keys []inner.Keys
	c.Schema = schema.New(
		c.s.tagNames(false),
		schema.Part{Path: tierPath, Specs: []any{&keys}, NestedTables: tierKeys()},
	)
	c.ReadTable(tierPath, fabric["tier"])
	c.ApplyDefaults()

	// joint means that all tiers are simulated together, as one network.
	work := schema.Child(c.Root, "workload")
	joint := !fileKind(c.Root, "workload").isTraining() ||
		work["collectives"] == training.CollectivesInGraph
	reconfigures := func(i int) bool {
		k := findKind("fabric", keys[i].Kind)
		return k != nil && k.supports(planCarrier) && rows[i]["topology"] == nil
	}
	for i := range rows {
		allowed, position := kindsWhere("fabric", func(k *kind) bool { return k.canBeInner }), "inner tier"
		if i == len(rows)-1 {
			allowed, position = kindsWhere("fabric", func(k *kind) bool {
				return k.canBeOuter
			}), "outermost tier"
		}

		table := fmt.Sprintf("%s.%d.", tierPath, i)
		if kind := keys[i].Kind; c.OK(table+"kind") &&
			c.Given(table+"kind") &&
			!slices.Contains(allowed, kind) {
			c.rejectf(table+"kind", "%s is no %s; choose from %s", schema.Quote(kind), position,
				schema.QuotedList(allowed))
		}
		c.checkTierOptions(table, reconfigures(i), i == len(rows)-1, joint)
	}

	if len(c.Diagnostics) > 0 {
		return
	}

	last := len(rows) - 1

	// Queues of inner tiers are only simulated if the whole network is simulated with
	// packets.
	level := "flow"
	if table := schema.Child(c.Root, "engine")["level"]; joint &&
		!findKind("fabric", keys[last].Kind).supports(circuitCarrier) &&
		(table == nil || table == "packet") {
		level = "packet"
	}

	// Each inner tier is the fabric of a small scenario, which checks its keys.
	for i, row := range rows[:last] {
		sub := c.tierChecker("tier", i, row)
		sub.Overrides, sub.Varied = maps.Clone(c.Overrides), maps.Clone(c.Varied) // policies belong to the outermost tier
		maps.DeleteFunc(
			sub.Overrides,
			func(table string, _ bool) bool { return !isWithin(table, tierPath) },
		)
		maps.DeleteFunc(
			sub.Varied,
			func(table string, _ schema.Origin) bool { return !isWithin(table, tierPath) },
		)
		if findKind("fabric", keys[i].Kind).supports(planCarrier) &&
			reconfigure.ByName(keys[i].Planner).Given {
			c.rejectf(fmt.Sprintf("%s.%d.planner", tierPath, i),
				"%s has plans from a file, of all-to-alls that no call of the step is; choose another planner",
				schema.Quote(keys[i].Planner))
			continue
		}
		sub.Root["workload"] = map[string]any{"kind": paths.Kinds()[0].Name, "message": "1KB"}
		sub.Root["engine"] = map[string]any{"level": level}
		if reconfigures(i) {
			sub.Root["engine"] = map[string]any{"level": "cost"}
			sub.Root["policy"] = map[string]any{"planners": []any{keys[i].Planner}}
		}

		sub.resolve()
		c.addFindings(sub)
		c.s.Tiers = append(c.s.Tiers, Tier{keys[i], sub.s})
	}

	// The outermost tier is the fabric of the workload.
	outer := c.tierChecker(c.s.Name, last, rows[last])
	for name, v := range c.Root {
		if name != "fabric" {
			outer.Root[name] = v
		}
	}

	linkCheck := func() {}
	if outer.isCell, outer.deferredCheck = c.isCell, &linkCheck; len(c.Diagnostics) == 0 {
		outer.s.Tiers = c.s.Tiers
	}
	if outer.resolve(); len(outer.Diagnostics) == 0 && len(c.Diagnostics) == 0 {
		if outer.checkTiers(); len(outer.Diagnostics) == 0 {
			linkCheck()
		}
		if len(outer.Diagnostics) == 0 && outer.s.isTraining() {
			checkReplicaMode(outer)
			checkDuration(outer)
		}
	}

	c.addFindings(outer)
	outer.s.Tiers = c.s.Tiers
	*c.s = *outer.s
}

// addFindings adds the diagnostics and input files of another checker.
func (c *checker) addFindings(sub *checker) {
	c.Diagnostics, c.inputFiles = append(c.Diagnostics, sub.Diagnostics...), append(c.inputFiles, sub.inputFiles...)
}

// tierOptionKeys are the keys of an inner tier other than the keys of its kind.
var tierOptionKeys = []string{"collective", "planner", "chunk", "known_ahead"}

// checkTierOptions rejects options that a tier does not use. Tiers of links use collective,
// unless all tiers are simulated together; tiers that reconfigure use the other options.
func (c *checker) checkTierOptions(table string, reconfigures, outermost, joint bool) {
	for _, name := range tierOptionKeys {
		used := !outermost && reconfigures == (name != "collective")
		switch {
		case !c.Given(table + name):
		case used && name == "collective" && joint:
			c.rejectf(table+name,
				"is not used where all tiers are simulated together; set policy.collective")
		case !used:
			c.rejectf(table+name,
				"is not used by this tier; leave it out: it is of inner tiers %s",
				map[bool]string{
					true:  "of links",
					false: `"scaleup" that reconfigure`,
				}[name == "collective"])
		}
	}
}

// tierChecker returns a checker of tier i as the fabric of a scenario of its own.
func (c *checker) tierChecker(name string, i int, row map[string]any) *checker {
	keys := maps.Clone(row)
	for _, name := range tierOptionKeys {
		delete(keys, name)
	}
	sub := newChecker(name, map[string]any{"fabric": keys}, c.Layers, c.s.files)
	sub.Varied, sub.Overrides = c.Varied, c.Overrides
	pathInFile := sub.Reader.FilePath
	sub.Reader.FilePath = func(path string) string {
		if rest, ok := strings.CutPrefix(path, "fabric."); ok {
			return fmt.Sprintf("%s.%d.%s", tierPath, i, rest)
		}

		return pathInFile(path)
	}
	return sub
}

// isJoint reports whether the work of s is simulated on the network of all tiers together.
// Otherwise collective calls inside the inner tiers only lengthen the passes of a training
// step.
func (s *Scenario) isJoint() bool {
	return len(s.Tiers) > 0 && (!s.isTraining() || s.hasCallsInGraph())
}

// innerLinks returns the links of the inner tiers. It returns nil if a tier has no links,
// which checkTiers rejects.
func (s *Scenario) innerLinks() (all []*links.Links) {
	for i := range s.Tiers {
		if s.Tiers[i].Scenario.usesPlanners() {
			return nil
		}
		all = append(all, &s.Tiers[i].Scenario.Fabric.Links)
	}
	return all
}

// checkTiers checks the tiers against each other, innermost first, and the work against the
// tiers.
func (c *checker) checkTiers() {
	s := c.s
	t := &s.Workload.Spec

	// sizeKey returns the key for the size of inner tier i.
	sizeKey := func(i int) string {
		return fmt.Sprintf("%s.%d.%s", tierPath, i, findKind("fabric", s.Tiers[i].Kind).sizeKey)
	}

	// reject reports a fault at a path of the file, which is not mapped to another one.
	reject := func(key, format string, args ...any) {
		problem, remedy := formatProblem(format, args)
		pathInFile := c.Reader.FilePath
		c.Reader.FilePath = func(p string) string { return p }
		c.Add(key, problem, remedy)
		c.Reader.FilePath = pathInFile
	}

	// inside is the number of GPUs that the tiers seen so far join.
	stage, inside, joint := t.StageGPUs(), 1, s.isJoint()
	for i := range s.Tiers {
		kind, n := fmt.Sprintf("%s.%d.kind", tierPath, i), s.innerTier(i).GPUs()
		switch {
		case n <= inside:
			reject(sizeKey(i),
				"joins %d GPUs, as many as the tier inside or fewer; choose more than %d, or leave the tier out",
				n, inside)
		case n%inside != 0:
			reject(sizeKey(i),
				"%d GPUs do not divide into domains of %d, those of the tier inside; choose a multiple of %d",
				n, inside, inside)
		case joint && s.Tiers[i].Scenario.usesPlanners():
			reject(kind,
				`has links for one all-to-all at a time, which a plan sets up and takes down, and none for transfers that begin when they may; `+
					`give it a topology, which its switches then keep, choose another kind, or a training step without collectives = "graph"`)
		case s.Engine.MessageOverhead > 0 && s.Tiers[i].Scenario.usesPlanners():
			reject(kind,
				"sends in the slots of a plan, in which starting a message takes no time; choose another kind, or leave engine.message_overhead out")
		case !joint && stage%n != 0:
			reject(sizeKey(i),
				"stages of %d GPUs do not divide into domains of %d; choose a divisor of a stage's GPUs (tp x cp, or etp x ep), or set workload.collectives = \"graph\"",
				stage, n)
		case s.Tiers[i].Scenario.Fabric.Faulty():
			reject(kind, "parts of inner tiers are down; let only those of the outermost fail")
		}

		inside = n
	}

	if len(c.Diagnostics) > 0 {
		return
	}

	if key, n := "fabric."+findKind("fabric", s.Fabric.Kind).sizeKey, s.Fabric.Links.GPUs(); s.usesRouters() &&
		(n <= inside || n%inside != 0) {
		c.conflictf(key+" fabric.edges fabric.generator",
			"%d GPUs are not several domains of %d, those of the tier inside; choose a multiple of %d",
			n, inside, inside)
		return
	}
	if s.fabricDecision().policyKey == "allocators" && len(s.Tiers) > 0 {
		key, n := "gpus_per_pod_per_replica", s.Fabric.GPUsPerPodPerReplica
		if !s.isTraining() {
			key, n = "gpus_per_pod", s.Fabric.GPUsPerPod
		}
		if n != inside {
			c.conflictf("fabric."+key,
				"pods of %d GPUs, and the tier inside joins %d; set "+key+" = %d",
				n, inside, inside)
			return
		}
	}

	if joint {
		c.checkJoint()
		return
	}

	c.conflictIf(s.Replay.Seeds > 0 && s.Replay.Sequence != t.Sequence,
		"replay.sequence",
		"passes are longer by the calls of %d tokens; leave it out",
		t.Sequence)
	if len(c.Diagnostics) > 0 {
		return
	}

	// Check the collective calls of the step that inner tiers carry, each type of call
	// once.
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
				callType := [2]int{int(call.Dim), int(call.Kind)}
				if seen[callType] {
					continue
				}
				seen[callType] = true
				size, tier := len(t.Groups(call, 0, 0)[0]), m.JoiningTier(call)
				key := map[training.Phase]string{
					training.Tensor:  "workload.tp",
					training.Context: "workload.cp",
					training.Expert:  "workload.ep",
					training.Sync:    "workload.gpus",
				}[call.Dim]
				if tier < 0 {
					c.conflictf(key,
						"a group of %d GPUs is larger than its tier, and no tier outside it carries %v calls of %v; "+
							`choose a smaller group, or a tier that joins it, or set workload.collectives = "graph", by which the outermost carries them`,
						size, call.Kind, call.Dim)
					return
				}
				if err := m.UnservedReason(context.Background(), call); err != nil {
					_, why, _ := strings.Cut(err.Error(), collective.ErrUnserved.Error()+": ")
					reject(fmt.Sprintf("%s.%d.collective", tierPath, tier),
						`%s does not serve the %v calls of the step: %s; choose another algorithm, or "best"`,
						schema.Quote(s.Tiers[tier].Collective), call.Dim, why)
					return
				}
			}
		}
	}
}

// checkJoint checks work on tiers that are simulated together as one network.
func (c *checker) checkJoint() {
	s := c.s
	c.conflictIf(s.usesDimensions(), "workload.kind workload.permutation",
		`asks for dimensions, and tiers have none together; choose other traffic, such as "all-reduce"`)
	for i := range s.Tiers {
		f := &s.Tiers[i].Scenario.Fabric
		c.conflictIf(s.usesRouters() && (f.Queue == "credit") != (s.Fabric.Queue == "credit"),
			"fabric.queue",
			`some tiers have queue "credit" and others not; let packets wait for room on all, or on none`)
		c.conflictIf(s.usesRouters() && f.BitErrors != s.Fabric.BitErrors,
			"fabric.bit_errors",
			"%g on the outermost tier and %g on tier %d; write the same for all",
			s.Fabric.BitErrors, f.BitErrors, i)
	}
}

// innerTier returns inner tier i as package inner takes it.
func (s *Scenario) innerTier(i int) inner.Tier {
	t := &s.Tiers[i]
	tier := inner.Tier{Keys: t.Keys}
	if t.Scenario.usesPlanners() {
		tier.Plans = t.Scenario.plansView()
	} else {
		tier.Links = &t.Scenario.Fabric.Links
	}
	return tier
}

// callTiers returns all inner tiers, which carry the collective calls of a step.
func (s *Scenario) callTiers() (all []inner.Tier) {
	for i := range s.Tiers {
		t := s.innerTier(i)
		t.MessageOverhead = s.Engine.MessageOverhead
		all = append(all, t)
	}
	return all
}

// buildWithTiers returns the hardware.build of a fabric that can have tiers inside. build
// builds the system of the outermost tier.
//
// If algorithms of the calls of a training step are searched, the result is a system for
// the best algorithms. If inner tiers carry calls, the passes of the step become longer by
// the time of these calls.
func buildWithTiers(build func(ctx context.Context, in *input.Scenario, workers int) (assembly.System, error)) func(context.Context, *Scenario, int) (assembly.System, error) {
	return func(ctx context.Context, s *Scenario, workers int) (assembly.System, error) {
		tiered := func(ctx context.Context, algorithms calls.Algorithms) (assembly.System, error) {
			s := s.withAlgorithm(string(algorithms))
			outer := func(longer composition.PassExtension) (assembly.System, error) {
				in := s.input()
				in.PassExtension = longer
				return build(ctx, in, workers)
			}
			if len(s.Tiers) == 0 || s.isJoint() {
				return outer(nil)
			}
			packet := s.Workload.Packet
			if s.Engine.Level != "packet" {
				packet = 0
			}
			return inner.NewSystem(
				ctx, s.Workload.Spec, s.callTiers(), s.Seed, packet, s.Fabric.Kind, outer,
			)
		}
		algorithms := calls.Algorithms(s.Policy.Calls.Collective)
		if _, searched := algorithms.SplitBest(); !s.hasCallsInGraph() || len(searched) == 0 {
			return tiered(ctx, algorithms)
		}

		return calls.NewAlgorithmSearch(ctx, &s.Workload.Spec, algorithms, tiered)
	}
}

// tiersTOML is TOML for a scenario of tiers.
func (s *Scenario) tiersTOML() []byte {
	var b bytes.Buffer

	// write writes the tables of one tier; keys writes the options of the tier after its
	// first table.
	write := func(tables *schema.Schema, keys func()) {
		for _, t := range tables.Tables {
			switch {
			case !isWithin(t.Path, "fabric") || !t.When.Applies() || t.IsOmitted():
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
			fmt.Fprintf(&b, "\n[fabric]\nkind = %q\n", tiersKindName)
			for i := range s.Tiers {
				k := &s.Tiers[i]
				write(k.Scenario.schema(), func() {
					if k.Scenario.usesPlanners() {
						fmt.Fprintf(
							&b, "planner = %s\nchunk = %s\n", schema.Literal(k.Planner),
							schema.Literal(k.Chunk),
						)
						if k.KnownAhead != "none" {
							fmt.Fprintf(&b, "known_ahead = %s\n", schema.Literal(k.KnownAhead))
						}
					} else if !s.isJoint() {
						fmt.Fprintf(&b, "collective = %s\n", schema.Literal(k.Collective))
					}
				})
			}
			write(s.schema(), func() {})
		case !isWithin(t.Path, "fabric") && t.When.Applies() && !t.IsOmitted():
			t.Write(&b, t.Path)
		}
	}

	return b.Bytes()
}

// tierCollectives returns the algorithms that an inner tier can name.
func tierCollectives() []string {
	names := []string{collective.BestName}
	for _, r := range collective.Table {
		names = append(names, r.Name)
	}
	return names
}
