// This file describes the fabric "tiers": one fabric inside another. Each tier is read by
// a checker of its own as the fabric of a scenario. Either all tiers are simulated as one
// network, or the inner tiers only lengthen the passes of a training step by the time of
// its collective calls.
//
// A kind (kinds.go) is a value of workload.kind or fabric.kind. Each of its forms has the
// keys for certain fabrics (parts), and functions that prepare and check them.

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

	// Collect the keys of [fabric] of all kinds that can be tiers.
	for _, k := range allForms() {
		if !k.canBeInner && !k.canBeOuter {
			continue
		}
		for _, t := range schema.New(s.tagNames(forOneJob), k.parts(s)...).Tables {
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
	rows, keys := c.readTierRows()
	if rows == nil {
		return
	}

	// The work and its collective calls determine whether all tiers form one network.
	workload := schema.Child(c.Root, "workload")
	isJoint := !fileKind(c.Root, "workload").isTraining() ||
		workload["collectives"] == training.CollectivesInGraph
	c.checkTierRows(rows, keys, isJoint)
	if len(c.Diagnostics) > 0 {
		return
	}

	// Inner tiers have queues only if the whole network is simulated with packets.
	last := len(rows) - 1
	hasCircuits := findKind("fabric", keys[last].Kind).supports(circuitCarrier)
	innerLevel := "flow"
	if isJoint && !hasCircuits && fileLevel(c.Root, linkCarrier) == "packet" {
		innerLevel = "packet"
	}
	for i, row := range rows[:last] {
		c.resolveInnerTier(i, row, keys[i], innerLevel)
	}
	c.resolveOuterTier(last, rows[last])
}

// readTierRows reads the tables [[fabric.tier]], innermost first. It returns the decoded
// tables and the keys that all kinds of tiers have, or nil if the number of tiers is
// invalid.
func (c *checker) readTierRows() (rows []map[string]any, keys []inner.Keys) {
	fabric := schema.Child(c.Root, "fabric")
	for _, name := range slices.Sorted(maps.Keys(fabric)) {
		if name != "kind" && name != "tier" {
			c.rejectf("fabric."+name,
				`is not used by fabric "tiers"; write it in the [[fabric.tier]] that it is of`)
		}
	}

	rows = schema.Rows(fabric["tier"])
	if len(rows) == 0 || len(rows) > maxTiers {
		c.rejectf(tierPath,
			"occurs %d times; write 1 to %d tables [[fabric.tier]], the innermost first",
			len(rows), maxTiers)
		return nil, nil
	}

	part := schema.Part{Path: tierPath, Specs: []any{&keys}, NestedTables: tierKeys()}
	c.Schema = schema.New(c.s.tagNames(forOneJob), part)
	c.ReadTable(tierPath, fabric["tier"])
	c.ApplyDefaults()
	return rows, keys
}

// tierReconfigures reports whether planners decide the topologies of a tier's switches.
func tierReconfigures(row map[string]any, keys inner.Keys) bool {
	k := findKind("fabric", keys.Kind)
	return k != nil && k.supports(planCarrier) && row["topology"] == nil
}

// checkTierRows checks that the kind of each tier is allowed at its position, and that the
// tier uses its options.
func (c *checker) checkTierRows(rows []map[string]any, keys []inner.Keys, isJoint bool) {
	for i, row := range rows {
		isOutermost := i == len(rows)-1
		allowed, position := kindsWhere("fabric", func(k *kind) bool { return k.canBeInner }), "inner tier"
		if isOutermost {
			allowed = kindsWhere("fabric", func(k *kind) bool { return k.canBeOuter })
			position = "outermost tier"
		}

		table := fmt.Sprintf("%s.%d.", tierPath, i)
		isGiven := c.OK(table+"kind") && c.Given(table+"kind")
		if kind := keys[i].Kind; isGiven && !slices.Contains(allowed, kind) {
			c.rejectf(table+"kind", "%s is no %s; choose from %s",
				schema.Quote(kind), position, schema.QuotedList(allowed))
		}
		c.checkTierOptions(table, tierReconfigures(row, keys[i]), isOutermost, isJoint)
	}
}

// resolveInnerTier checks inner tier i as the fabric of a small scenario: traffic on links,
// or the plans of one planner. level is the level of the simulation on links. It appends
// the tier to c.s.Tiers.
func (c *checker) resolveInnerTier(i int, row map[string]any, keys inner.Keys, level string) {
	// Overrides of policies are for the outermost tier.
	sub := c.tierChecker("tier", i, row)
	sub.Overrides, sub.Varied = maps.Clone(c.Overrides), maps.Clone(c.Varied)
	maps.DeleteFunc(sub.Overrides, func(path string, _ bool) bool { return !isWithin(path, tierPath) })
	maps.DeleteFunc(sub.Varied, func(path string, _ schema.Origin) bool { return !isWithin(path, tierPath) })

	canReconfigure := findKind("fabric", keys.Kind).supports(planCarrier)
	if canReconfigure && reconfigure.ByName(keys.Planner).IsImported {
		c.rejectf(fmt.Sprintf("%s.%d.planner", tierPath, i),
			"%s has plans from a file, which do not fit the calls of the step; choose another planner",
			schema.Quote(keys.Planner))
		return
	}

	sub.Root["workload"] = map[string]any{"kind": paths.Kinds()[0].Name, "message": "1KB"}
	sub.Root["engine"] = map[string]any{"level": level}
	if tierReconfigures(row, keys) {
		sub.Root["engine"] = map[string]any{"level": "cost"}
		sub.Root["policy"] = map[string]any{"planners": []any{keys.Planner}}
	}
	sub.resolve()
	c.addFindings(sub)
	c.s.Tiers = append(c.s.Tiers, Tier{keys, sub.s})
}

// resolveOuterTier checks the outermost tier as the fabric of the workload, then the tiers
// against each other, and at last the work on all of them. The result is the scenario.
func (c *checker) resolveOuterTier(i int, row map[string]any) {
	outer := c.tierChecker(c.s.Name, i, row)
	for name, v := range c.Root {
		if name != "fabric" {
			outer.Root[name] = v
		}
	}

	checkWork := func() {} // set by checkLinks
	outer.isCell, outer.deferredCheck = c.isCell, &checkWork
	if len(c.Diagnostics) == 0 {
		outer.s.Tiers = c.s.Tiers
	}
	outer.resolve()
	if len(outer.Diagnostics) == 0 && len(c.Diagnostics) == 0 {
		outer.checkTiers()
		if len(outer.Diagnostics) == 0 {
			checkWork()
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
	c.Diagnostics = append(c.Diagnostics, sub.Diagnostics...)
	c.inputFiles = append(c.inputFiles, sub.inputFiles...)
}

// tierOptionKeys are the keys of an inner tier other than the keys of its kind.
var tierOptionKeys = []string{"collective", "planner", "chunk", "predicted_calls"}

// checkTierOptions rejects options that a tier does not use. Tiers of links use collective,
// unless all tiers are simulated together; tiers that reconfigure use the other options.
func (c *checker) checkTierOptions(table string, reconfigures, isOutermost, isJoint bool) {
	for _, name := range tierOptionKeys {
		ofLinks := name == "collective"
		isUsed := !isOutermost && reconfigures != ofLinks
		users := `"scaleup" that reconfigure`
		if ofLinks {
			users = "of links"
		}
		switch {
		case !c.Given(table + name):
		case isUsed && ofLinks && isJoint:
			c.rejectf(table+name, "is not used where all tiers are simulated together; set policy.collective")
		case !isUsed:
			c.rejectf(table+name, "is not used by this tier; leave it out: it is of inner tiers %s", users)
		}
	}
}

// tierChecker returns a checker of tier i as the fabric of a scenario of its own.
func (c *checker) tierChecker(name string, i int, row map[string]any) *checker {
	// Options of tiers are not keys of the fabric.
	keys := maps.Clone(row)
	for _, name := range tierOptionKeys {
		delete(keys, name)
	}
	sub := newChecker(name, map[string]any{"fabric": keys}, c.Layers, c.s.files)
	sub.Varied, sub.Overrides = c.Varied, c.Overrides

	// Diagnostics of keys of [fabric] name the tier.
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
	inside := c.checkTierSizes()
	if len(c.Diagnostics) > 0 {
		return
	}

	// The outermost tier joins several domains of the tier inside.
	key, gpus := "fabric."+findKind("fabric", s.Fabric.Kind).sizeKey, s.Fabric.Links.GPUs()
	if s.usesRouters() && (gpus <= inside || gpus%inside != 0) {
		c.conflictf(key+" fabric.edges fabric.generator",
			"%d GPUs are not several domains of %d, the size of the tier inside; choose a multiple of %d",
			gpus, inside, inside)
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

	if s.isJoint() {
		c.checkJoint()
		return
	}

	// Inner tiers lengthen passes by the calls of one sequence length.
	sequence := s.Workload.Spec.Sequence
	c.conflictIf(s.Trials.Count > 0 && s.Trials.Sequence != sequence,
		"trials.sequence",
		"inner tiers are simulated for %d tokens only; leave it out",
		sequence)
	if len(c.Diagnostics) == 0 {
		c.checkInnerCalls()
	}
}

// checkTierSizes checks the kind and the size of each inner tier. It returns the number of
// GPUs that the last one joins.
func (c *checker) checkTierSizes() int {
	s := c.s
	stage, isJoint := s.Workload.StageGPUs(), s.isJoint()
	inside := 1 // GPUs that the tier inside tier i joins
	for i := range s.Tiers {
		kindKey := fmt.Sprintf("%s.%d.kind", tierPath, i)
		sizeKey := fmt.Sprintf("%s.%d.%s", tierPath, i, findKind("fabric", s.Tiers[i].Kind).sizeKey)
		usesPlanners, n := s.Tiers[i].Scenario.usesPlanners(), s.innerTier(i).GPUs()
		switch {
		case n <= inside:
			c.rejectTier(sizeKey,
				"joins %d GPUs, as many as the tier inside or fewer; choose more than %d, or leave the tier out",
				n, inside)
		case n%inside != 0:
			c.rejectTier(sizeKey,
				"%d GPUs do not divide into domains of %d, the size of the tier inside; choose a multiple of %d",
				n, inside, inside)
		case isJoint && usesPlanners:
			c.rejectTier(kindKey,
				`has links for one all-to-all at a time, which a plan sets up and removes, but none for transfers at arbitrary times; `+
					`give it a topology, which its switches then keep, choose another kind, or a training step without collectives = "graph"`)
		case s.Engine.MessageOverhead > 0 && usesPlanners:
			c.rejectTier(kindKey,
				"sends in the slots of a plan, which have no overhead per message; choose another kind, or leave engine.message_overhead out")
		case !isJoint && stage%n != 0:
			c.rejectTier(sizeKey,
				"stages of %d GPUs do not divide into domains of %d; choose a divisor of a stage's GPUs (tp x cp, or etp x ep), or set workload.collectives = \"graph\"",
				stage, n)
		case s.Tiers[i].Scenario.Fabric.Faulty():
			c.rejectTier(kindKey, "parts of inner tiers are down; let only those of the outermost fail")
		}
		inside = n
	}
	return inside
}

// rejectTier reports a fault at a path of the file. The checker of the outermost tier would
// map the path to a key of that tier.
func (c *checker) rejectTier(path, format string, args ...any) {
	problem, remedy := formatProblem(format, args)
	pathInFile := c.Reader.FilePath
	c.Reader.FilePath = func(p string) string { return p }
	c.Add(path, problem, remedy)
	c.Reader.FilePath = pathInFile
}

// checkInnerCalls checks that each collective call of the step has a tier that joins its
// group, and that the algorithm of the tier serves the call. Calls of one dimension and
// kind need a single check.
func (c *checker) checkInnerCalls() {
	s := c.s
	t := &s.Workload.Spec
	t.HasCopySync = true
	const packet = 0 // no call is simulated
	m, err := inner.New(*t, s.callTiers(), s.Seed, packet)
	if err != nil {
		c.blame("fabric.kind", err)
		return
	}

	// The algorithm of a tier serves all calls of a dimension and kind, or none of them.
	checked := map[[2]int]bool{}
	for _, pass := range t.ContractedPasses() {
		for v := range t.PP * t.Chunks {
			for _, call := range t.Calls(v, pass) {
				callType := [2]int{int(call.Dim), int(call.Kind)}
				if checked[callType] {
					continue
				}
				checked[callType] = true

				tier := m.JoiningTier(call)
				if tier < 0 {
					c.conflictf(callSizeKeys[call.Dim],
						"a group of %d GPUs is larger than its tier, and no tier outside it carries %v calls of %v; "+
							`choose a smaller group, or a tier that joins it, or set workload.collectives = "graph", so that the outermost tier carries them`,
						len(firstGroup(t, call)), call.Kind, call.Dim)
					return
				}
				if err := m.UnservedReason(context.Background(), call); err != nil {
					_, reason, _ := strings.Cut(err.Error(), collective.ErrUnserved.Error()+": ")
					c.rejectTier(fmt.Sprintf("%s.%d.collective", tierPath, tier),
						`%s does not serve the %v calls of the step: %s; choose another algorithm, or "best"`,
						schema.Quote(s.Tiers[tier].Collective), call.Dim, reason)
					return
				}
			}
		}
	}
}

// firstGroup returns the first group that makes a call, in stage 0 of replica 0. All groups
// of a call have the same size.
func firstGroup(t *training.Spec, call training.Call) []int32 {
	const stage, replica = 0, 0
	return t.Groups(call, stage, replica)[0]
}

// callSizeKeys are the keys for the size of the groups of collective calls, indexed by
// dimension of parallelism.
var callSizeKeys = map[training.Phase]string{
	training.Tensor:  "workload.tp",
	training.Context: "workload.cp",
	training.Expert:  "workload.ep",
	training.Sync:    "workload.gpus",
}

// checkJoint checks work on tiers that are simulated together as one network.
func (c *checker) checkJoint() {
	s := c.s
	c.conflictIf(s.usesDimensions(), "workload.kind workload.permutation",
		`refers to dimensions, but tiers have none in common; choose other traffic, such as "all-reduce"`)
	for i := range s.Tiers {
		// A network has one kind of queue and one rate of bit errors.
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
	// A tier has either plans or links.
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

// systemBuilder builds the system of a scenario's input on one fabric.
type systemBuilder func(ctx context.Context, in *input.Scenario, workers int) (assembly.System, error)

// buildWithTiers returns the hardware.build of a fabric that can have tiers inside. build
// builds the system of the outermost tier.
//
// If algorithms of the calls of a training step are searched, the result is a system for
// the best algorithms. If inner tiers carry calls, the passes of the step become longer by
// the time of these calls.
func buildWithTiers(build systemBuilder) func(context.Context, *Scenario, int) (assembly.System, error) {
	return func(ctx context.Context, s *Scenario, workers int) (assembly.System, error) {
		// buildWith builds the system for given algorithms of the calls.
		buildWith := func(ctx context.Context, by calls.Algorithms) (assembly.System, error) {
			return s.withAlgorithm(string(by)).buildTiers(ctx, build, workers)
		}

		algorithms := calls.Algorithms(s.Policy.Calls.Collective)
		_, searched := algorithms.SplitBest()
		if !s.hasCallsInGraph() || len(searched) == 0 {
			return buildWith(ctx, algorithms)
		}
		return calls.NewAlgorithmSearch(ctx, &s.Workload.Spec, algorithms, buildWith)
	}
}

// buildTiers builds the system of the outermost tier of s. Unless all tiers form one
// network, its passes include the time of calls inside the inner tiers.
func (s *Scenario) buildTiers(ctx context.Context, build systemBuilder, workers int) (assembly.System, error) {
	buildOuter := func(longer composition.PassExtension) (assembly.System, error) {
		in := s.input()
		in.PassExtension = longer
		return build(ctx, in, workers)
	}
	if len(s.Tiers) == 0 || s.isJoint() {
		return buildOuter(nil)
	}

	packet := s.Workload.Packet // 0 if calls are not simulated with packets
	if s.Engine.Level != "packet" {
		packet = 0
	}
	return inner.NewSystem(ctx, s.Workload.Spec, s.callTiers(), s.Seed, packet, s.Fabric.Kind, buildOuter)
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
				const noHeader = "" // the header is written already
				t.Write(&b, noHeader)
				keys()
			default:
				t.Write(&b, strings.Replace(t.Path, "fabric", tierPath, 1))
			}
		}
	}

	// Write the tables of the outermost tier. Its [fabric] becomes the list of all tiers.
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
						if k.KnownInAdvance != "none" {
							fmt.Fprintf(&b, "predicted_calls = %s\n", schema.Literal(k.KnownInAdvance))
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
		if !r.NeedsMachine {
			names = append(names, r.Name)
		}
	}
	return names
}
