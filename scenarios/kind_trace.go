// This file describes the workload "trace", which reads files of other tools
// (docs/traces.md). The files are read before the keys, because the keys depend on their
// format.
//
// A kind (kinds.go) is a value of workload.kind or fabric.kind. Each of its forms has the
// keys for certain fabrics (parts), and functions that prepare and check them.

package scenarios

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sim/engine"
	"sim/engine/units"
	"sim/policies/mapping"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/calls"
	"sim/scenarios/assembly/circuits"
	"sim/scenarios/schema"
	"sim/workloads/trace"
	"sim/workloads/training"
)

// Trace is a workload that another tool has recorded in files: its keys and the job read
// from the files.
type Trace struct {
	trace.Keys
	Job *trace.Job // nil until the files are read
	// HoldsStage means that the files hold a stage of a pipeline, which represents all
	// ranks of the stage.
	HoldsStage bool
}

// traceFiles are the files of a trace. They are read before the keys of the workload, since
// these depend on the format.
type traceFiles struct {
	files  []trace.File
	groups trace.File    // communicator groups; its name is "" if there is no such file
	format *trace.Format // nil if unknown
	digest string        // SHA-256 of all files in hex
	err    error         // reason why the files cannot be used
}

// traceKindName is the name of the workload "trace".
const traceKindName = "trace"

// traceKind describes the workload "trace". Its first form is for files that hold every
// rank. Its second form is for files that hold a stage of a pipeline, which pods simulate
// as a training step.
func traceKind() *kind {
	// Files with every rank run on links and pods.
	one := form{
		doc:              "What another tool has written: computing, messages and collective calls of each rank (docs/traces.md).",
		acceptedCarriers: []carrier{linkCarrier, circuitCarrier}, checkOnPods: checkPodTrace,
		parts: func(s *Scenario) []schema.Part {
			w := &s.Workload
			return []schema.Part{{
				Path: "workload",
				Doc:  "The trace files, and values that they lack.",
				Specs: []any{
					&w.Trace.Keys,
					schema.RetaggedSpec{Spec: &w.TrafficPacket, Tags: trainingPacketTags},
				},
				Defaults: func(int) []any {
					return []any{&w.Trace.Keys}
				}, // prepareTraceFiles has set the digest
			}}
		},
		prepare: prepareTraceFiles, check: checkTrace,
	}

	// Files with a pipeline stage run as training on pods, with checks of their own.
	staged := one
	staged.when = func(s *Scenario) bool { return s.Workload.Trace.HoldsStage }
	staged.check = checkStagedTrace
	staged.acceptedCarriers = []carrier{circuitCarrier}
	staged.isTraining = true
	staged.checkOnPods = nil
	return &kind{
		name:        traceKindName,
		hasMappings: true,
		rankWork:    func(s *Scenario) calls.Work { return &traceWork{s} },
		forms:       []*form{&one, &staged},
	}
}

// isTrace reports whether the workload of s is a trace.
func (s *Scenario) isTrace() bool { return s.Workload.Kind == traceKindName }

// isStagedTrace reports whether s is a trace of pipeline stages on pods.
func (s *Scenario) isStagedTrace() bool {
	return s.isTrace() && s.carrier() == circuitCarrier && s.Workload.Trace.HoldsStage
}

// peekTrace reads the files of a trace and determines their format, before the keys are
// read.
func (c *checker) peekTrace() {
	t, w := &c.trace, schema.Child(c.Root, "workload")
	if !c.s.isTrace() {
		return
	}

	// If no file can be read, the form follows from the keys of the fabric.
	_, c.s.Workload.Trace.HoldsStage = schema.Child(c.Root, "fabric")["gpus_per_pod_per_replica"]

	// A single name stands for a list of one.
	if name, ok := w["files"].(string); ok {
		w["files"] = []any{name}
	}
	var names []string
	list, _ := w["files"].([]any)
	for _, v := range list {
		name, ok := v.(string)
		if !ok {
			return // Read rejects the value
		}

		names = append(names, name)
	}

	if len(names) == 0 {
		return
	}
	if t.files, t.err = c.readTrace(names); t.err != nil {
		return
	}

	// The resolved scenario may be read in another directory, so it stores the paths that
	// were found.
	for i, name := range names {
		list[i] = c.traceFilePath("workload.files", name)
	}
	if name, ok := w["groups"].(string); ok && name != "" {
		fileName := c.traceFilePath("workload.groups", name)
		data, err := c.readTraceFile(fileName, schema.MaxFileBytes)
		if err != nil {
			t.format = nil
			c.rejectf("workload.groups", "%s; name a readable file",
				strings.TrimSuffix(err.Error(), "; want readable files"))
			return
		}

		c.inputFiles = append(c.inputFiles, fileName)
		t.groups, w["groups"] = trace.File{Name: fileName, Data: data}, fileName
	}

	sum := sha256.New()
	for _, f := range append(slices.Clip(t.files), t.groups) {
		sum.Write(f.Data)
	}
	t.digest = hex.EncodeToString(sum.Sum(nil))

	// The format is given, or follows from the content of the first file. Read rejects
	// unknown names later.
	name, _ := w["format"].(string)
	t.format = trace.ByName(name)
	if isAuto := name == "" || name == trace.Auto; t.format == nil && isAuto {
		t.format = trace.Detect(t.files[0])
		if t.format == nil {
			known := trace.FormatNames()[1:] // without trace.Auto, the first
			t.err = &trace.Error{
				File:    t.files[0].Name,
				Problem: "looks like no format that is known",
				Want:    "one of " + strings.Join(known, ", "),
			}
			return
		}

		w["format"] = t.format.Name
	}

	if t.format != nil {
		c.s.Workload.Trace.HoldsStage = t.format.HoldsStage
	}
}

// readTrace reads the files that names list. "%d" in a name stands for the rank: files are
// read for rank 0, 1 and so on until one is missing.
func (c *checker) readTrace(names []string) (files []trace.File, err error) {
	remainingBytes := trace.MaxBytes

	// read reads and unpacks a file, and limits the size of all files together.
	read := func(fileName string) error {
		data, err := c.readTraceFile(fileName, remainingBytes)
		if err != nil {
			return err
		}
		f, err := trace.Unpack(fileName, data)
		if err != nil {
			return err
		}
		if remainingBytes -= len(f.Data); remainingBytes < 0 || len(data) > trace.MaxBytes {
			return fmt.Errorf(
				"%s: the files are larger than %d MiB; want fewer or smaller ones, or more memory by --max-memory",
				fileName, trace.MaxBytes>>20,
			)
		}

		c.inputFiles = append(c.inputFiles, fileName)
		files = append(files, f)
		return nil
	}

	for _, name := range names {
		pattern := c.traceFilePath("workload.files", name)
		switch n := strings.Count(pattern, "%d"); n {
		case 0:
			err = read(pattern)
		case 1:
			err = c.readRanks(pattern, read)
		default:
			err = fmt.Errorf("%s has %%d %d times; want it once, for the rank", pattern, n)
		}
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// readRanks reads the files of all ranks: "%d" in pattern stands for the rank. The first
// missing file ends the list. A file after the missing one shows that the list has a gap.
func (c *checker) readRanks(pattern string, read func(fileName string) error) error {
	for rank := 0; ; rank++ {
		fileName := strings.Replace(pattern, "%d", fmt.Sprint(rank), 1)
		if rank > 0 && !c.traceFileExists(fileName) {
			next := strings.Replace(pattern, "%d", fmt.Sprint(rank+1), 1)
			if c.traceFileExists(next) {
				return fmt.Errorf("%s is missing, and %s is there; want a file for each rank",
					fileName, next)
			}
			return nil
		}
		if err := read(fileName); err != nil {
			return err
		}
	}
}

// readTraceFile returns the content of a file of at most maxBytes bytes; for a larger file
// it returns more bytes. If there is no such file, it reads a built-in one.
func (c *checker) readTraceFile(fileName string, maxBytes int) ([]byte, error) {
	data, err := c.s.files.read(fileName, maxBytes)
	if err != nil {
		if data, missing := embedded.ReadFile(embeddedName(fileName)); missing == nil {
			return data, nil
		}
		var p *os.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return nil, fmt.Errorf("%s cannot be read: %w; want readable files", fileName, err)
	}
	return data, nil
}

// traceFilePath returns the path of a file that the key at path names. It is relative to
// the directory of the scenario's file, unless only the working directory has the file.
func (c *checker) traceFilePath(path, name string) string {
	if c.Overridden(path) || filepath.IsAbs(name) {
		return name
	}

	file, _ := schema.FindLine(c.Layers, c.keyPathInFile(path))
	relative := filepath.Join(filepath.Dir(file), name)
	if c.traceFileExists(relative) || !c.traceFileExists(name) {
		return relative
	}
	return name
}

// embeddedName returns the name of a file in embedded if it is built in.
func embeddedName(fileName string) string {
	return strings.TrimPrefix(filepath.ToSlash(fileName), "scenarios/")
}

// traceFileExists reports whether there is a file with that name, or the file of rank 0 for
// a name with "%d".
func (c *checker) traceFileExists(fileName string) bool {
	fileName = strings.Replace(fileName, "%d", "0", 1)
	if c.s.files.exists(fileName) {
		return true
	}
	_, err := embedded.Open(embeddedName(fileName))
	return err == nil
}

// rejectTrace reports an error of the files, at the key workload.files.
func (c *checker) rejectTrace(err error) { c.rejectTraceAt("workload.files", err) }

// rejectTraceAt reports an error of the files at a key that they contradict.
func (c *checker) rejectTraceAt(key string, err error) {
	problem, want, ok := strings.Cut(err.Error(), "; want ")
	if !ok {
		want = "a file that docs/traces.md describes"
	}
	c.Reject(key, problem, "give "+want)
}

// prepareTraceFiles reads the job from the files. A trace of a pipeline stage also becomes
// the spec of a training step with measured times.
func prepareTraceFiles(c *checker) {
	t, keys := &c.trace, &c.s.Workload.Trace
	if t.err != nil {
		c.rejectTrace(t.err)
		return
	}
	if t.format == nil || !c.OK("workload") {
		return
	}

	if given, _ := schema.Child(c.Root, "workload")["sha256"].(string); given != "" && given != t.digest {
		c.rejectf("workload.sha256",
			"does not match the files; leave it out, or name the files that it belongs to")
		return
	}

	c.conflictIf(keys.GrowthGroup != "" && keys.Ranks == 0, "workload.growth_group workload.ranks",
		"a group is scaled to no number of ranks; set workload.ranks")

	// Reading depends on keys whose defaults are applied later. The rate inside a stage
	// defaults to the rate of a network interface, which defaults to the rate of a port.
	f := &c.s.Fabric
	h := &trace.ReadOptions{Keys: keys.Keys, GroupFile: t.groups}
	h.RankOrder = cmp.Or(h.RankOrder, "tp-dp-pp")
	h.IntraStageRate = cmp.Or(f.InsideBandwidth, f.NICBandwidth, f.PortBandwidth)

	var err error
	if keys.Job, err = trace.Read(t.format, t.files, h); err != nil {
		c.rejectTrace(err)
		return
	}

	if keys.Ranks > 0 {
		if keys.Job, err = keys.Job.Scale(keys.Ranks, keys.GrowthGroup); err != nil {
			c.rejectTraceAt("workload.ranks", err)
			return
		}
	}

	keys.SHA256, t.files = t.digest, nil
	if keys.Job.Stage == nil || !c.s.isStagedTrace() {
		return
	}

	describeStage(c.s, h.Schedule, t.format.Name)
}

// describeStage sets the spec of a training step for a trace of a pipeline stage: a model
// with one layer per stage, whose times and bytes are measured. The GPUs of a stage that
// are not tensor-parallel count as context-parallel.
func describeStage(s *Scenario, schedule, formatName string) {
	job := s.Workload.Trace.Job
	m := job.Stage
	spec := &s.Workload.Spec
	*spec = training.Spec{
		Microbatches: m.Microbatches,
		Microbatch:   1,
		Sequence:     m.GPUs,
		TP:           1,
		PP:           1,
		EP:           1,
		ETP:          1,
		Chunks:       1,
		GPUs:         job.Ranks,
		Schedule:     cmp.Or(schedule, training.OneFOneB),
		ReplicaMode:  "auto",
		Flows:        "aggregated",
		Collectives:  "none",
		Measured:     m,
		Choices:      training.Choices{Ring: "bidirectional", EffectiveTFLOPS: 1, ActivationBytes: 1},
	}
	spec.Arch.Name = formatName + " trace"
	for _, d := range job.Dims {
		switch d.Name {
		case "tp":
			spec.TP = d.Size
		case "pp":
			spec.PP = d.Size
		}
	}

	spec.CP = m.GPUs / spec.TP // GPUs of a stage that share a sample
	spec.Arch.Layers = spec.PP
	if m.Forward > 0 {
		spec.Choices.BackwardRatio = float64(m.Backward) / float64(m.Forward)
	}
}

// checkTrace checks that the files hold a job. The fabric's checks cover the rest.
func checkTrace(c *checker) {
	c.conflictIf(c.s.Workload.Trace.Job == nil && len(c.Diagnostics) == 0,
		"workload.files",
		"contain no tasks; name files that docs/traces.md describes")
}

// checkStagedTrace checks a trace of pipeline stages on pods.
func checkStagedTrace(c *checker) {
	checkTrace(c)
	spec := &c.s.Workload.Spec
	if m := spec.Measured; m != nil && c.OK("workload") {
		c.conflictIf(m.PipelineBytes == 0 && m.SyncBytes == 0, "workload.files",
			"a stage sends nothing to others; give files whose stages exchange something, or simulate them on links")
	}
}

// checkPodTrace checks a trace of ranks against the pods.
func checkPodTrace(c *checker) {
	const pods, perPod = "fabric.pods", "fabric.gpus_per_pod"
	s, f := c.s, &c.s.Fabric
	j := s.Workload.Trace.Job
	if j == nil || !c.OK(pods, perPod, "workload") {
		return
	}

	switch {
	case !c.requireSeveralPods():
	case f.Pods*f.GPUsPerPod < j.Ranks:
		c.conflictf(pods+" "+perPod+" workload.files",
			"%d ranks do not fit %d pods of %d GPUs; choose more or larger pods",
			j.Ranks, f.Pods, f.GPUsPerPod)
	case j.Ranks <= f.GPUsPerPod:
		c.conflictf(perPod+" "+pods+" workload.files",
			"no traffic crosses pods: all %d ranks are in the first; choose smaller pods",
			j.Ranks)
	case c.OK("fabric", "policy", "engine"):
		// Build the graph with ranks in order, pod by pod.
		built, _, err := (&traceWork{s}).Build(context.Background(), s.circuitsView().GPUExpander())
		if err != nil {
			c.rejectTrace(err)
			return
		}
		checkPodTransfers(c, built.Graph, j.Compute().Seconds(), "workload.files")
	}
}

// checkPodTransfers checks the transfers between pods against their ports, and all
// transfers against simulated time and the number of packets. compute is the time of all
// computes in seconds, and key the key that determines the transfers.
func checkPodTransfers(c *checker, g *engine.Graph, compute float64, key string) {
	s, f := c.s, &c.s.Fabric

	// Sum the transfers between pods.
	joined, crossing, bytes, hops := make(circuits.PodNeighbours, f.Pods), 0, 0.0, 0.0
	for i := range g.Tasks {
		t := &g.Tasks[i]
		bytes += float64(t.Bytes)
		hops += hopsPerPacket * math.Ceil(float64(t.Bytes)/float64(max(1, s.Workload.Packet)))
		if t.Kind == engine.Transfer && joined.Add(int(t.Src)/f.GPUsPerPod, int(t.Dst)/f.GPUsPerPod) {
			crossing++
		}
	}

	// All computes, and all transfers one after the other on the slowest link, bound the
	// duration.
	slowest := min(f.PortBandwidth, f.NICBandwidth, f.InsideBandwidth)
	switch long := 8*bytes/float64(slowest) + compute; {
	case crossing == 0:
		c.conflictf("fabric.gpus_per_pod fabric.hosts_per_pod "+key, "no traffic crosses pods; choose smaller pods")
	case long > maxIterationSeconds:
		c.conflictf(key+" fabric.port_bandwidth fabric.nic_bandwidth",
			"the work may take %.3g s, which is too long to simulate; stay within %d s",
			long, maxIterationSeconds)
	case s.Engine.Level == "packet":
		c.checkPodPackets(slowest, hops)
	}

	c.checkPodPorts(joined, "policy.collective")
}

// Report describes the files of a trace, or the memory of a training step: the stage whose
// GPUs need the largest amount. It returns "" for other work.
func (s *Scenario) Report() string {
	if !s.isTrace() {
		if s.isTraining() {
			line := fullestStageText(&s.Workload.Spec)
			if s.Workload.Spec.GPUMemory == 0 {
				line += "; set workload.gpu_memory to hold it against a GPU's"
			}
			return fmt.Sprintf("  %-16s %s\n", "memory", line)
		}
		return ""
	}

	// Describe the job, and then the stage that represents its ranks.
	var b strings.Builder
	if err := s.Workload.Trace.Job.Report(&b); err != nil {
		return ""
	}
	if m := s.Workload.Spec.Measured; m != nil && s.isStagedTrace() {
		fmt.Fprintf(&b,
			"  %-16s %d GPUs in lockstep: %s forward and %s backward a micro-batch of %d, %s before and %s after them\n",
			"stage", m.GPUs, units.ShortTime(m.Forward), units.ShortTime(m.Backward), m.Microbatches,
			units.ShortTime(m.Prologue), units.ShortTime(m.Epilogue))
		fmt.Fprintf(&b,
			"  %-16s %s a GPU and micro-batch to the next stage, %s a GPU and step to the next replica; %s a GPU inside the stage, which take time at fabric.inside_bandwidth\n",
			"", trace.Size(float64(m.PipelineBytes)), trace.Size(float64(m.SyncBytes)),
			trace.Size(float64(m.IntraStageBytes)))
	}
	return b.String()
}

// traceWork is the work of the ranks of a trace. It implements calls.Work.
type traceWork struct{ s *Scenario }

// job returns the job that was read from the files.
func (w *traceWork) job() *trace.Job { return w.s.Workload.Trace.Job }

// Description returns the title and the job of the trace in one line.
func (w *traceWork) Description(title string) string {
	if title != "" {
		title += ": "
	}
	return title + w.job().Words()
}

// Ranks returns the number of ranks in the files.
func (w *traceWork) Ranks() int { return w.job().Ranks }

// RankKeys returns the keys that determine the number of ranks.
func (w *traceWork) RankKeys() []string {
	if w.s.Workload.Trace.Keys.Ranks > 0 {
		return []string{"workload.ranks", "workload.files"}
	}
	return []string{"workload.files"}
}

// Dims returns the dimensions of parallelism that the trace names, or a single dimension
// "dp" of all ranks.
func (w *traceWork) Dims() (dims []mapping.Dim) {
	for _, d := range w.job().Dims {
		dims = append(dims, mapping.Dim{Name: d.Name, Size: d.Size})
	}
	if dims == nil {
		dims = []mapping.Dim{{Name: "dp", Size: w.Ranks()}}
	}
	return dims
}

// Size returns the bytes and transfers of all ranks. The estimate has a slack of a factor
// of two, since algorithms differ.
func (w *traceWork) Size() (bytes, transfers, slack float64) {
	bytes, transfers = w.job().Wire()
	return bytes, transfers * float64(w.Ranks()), 2
}

// SizeRemedy returns "": the size of a recorded trace cannot be changed.
func (w *traceWork) SizeRemedy() string { return "" }

// Tasks returns the messages of the trace. A trace is not folded.
func (w *traceWork) Tasks() (all, folded float64) {
	_, transfers, _ := w.Size()
	return transfers, 0
}

// Check rejects a trace that simulated time may not hold: all computes, and all bytes on
// one link.
func (w *traceWork) Check(c *schema.Reader, _ bool) {
	bytes, _ := w.job().Wire()
	seconds := w.job().Compute().Seconds() + 8*bytes/float64(w.s.Fabric.LinkRate)
	if maxSeconds := assembly.MaxInjectionTime.Seconds(); seconds > maxSeconds {
		c.Conflict([]string{"workload.files", "fabric.link_rate"},
			fmt.Sprintf("the trace may take %.3g s, which is too long to simulate", seconds),
			fmt.Sprintf("stay within %.0f s", maxSeconds))
	}
}

// CheckCalls builds the task graph, since the transfers of the calls are known only then.
func (w *traceWork) CheckCalls(ctx context.Context, e *calls.Expander) (keys []string, err error) {
	_, _, err = w.Build(ctx, e)
	return []string{"workload.files", "policy.collective"}, err
}

// Build returns the trace as a training step whose tasks belong to no phase.
func (w *traceWork) Build(ctx context.Context, e *calls.Expander) (*training.Iteration, [][2]int, error) {
	aggregated := w.s.Workload.Trace.Calls == "neighbours"
	built, err := w.job().Build(e.TraceOptions(ctx, aggregated))
	if large := (trace.TooLargeError{}); errors.As(err, &large) {
		cost := e.TaskCost.Scale(float64(large.Tasks))
		err = cost.CheckLimits("transfers and computes of the trace, or more,",
			`collectives = "neighbours" or a smaller trace`)
	}
	if err != nil {
		return nil, nil, err
	}
	spec := training.Spec{
		GPUs:         w.Ranks(),
		PP:           1,
		Chunks:       1,
		Microbatches: 1,
		Collectives:  training.CollectivesInGraph,
	}
	meta := make([]training.TaskMeta, len(built.Graph.Tasks))
	for i := range meta {
		meta[i].GPU = built.Rank[i]
	}
	return &training.Iteration{
		Spec:      spec,
		Graph:     built.Graph,
		Meta:      meta,
		SendOrder: built.SendOrder,
	}, nil, nil
}
