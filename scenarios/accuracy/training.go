package accuracy

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"sim/fabric/machine"
	"sim/scenarios"
	"sim/workloads/training"
)

// This file poses training steps as scenarios on a cluster of the row's machine.

// Parts of the model of a training step that predictTraining can leave out.
const (
	stepCollectives = "collectives" // calls as NCCL makes them, instead of direct exchanges without costs
	stepExperts     = "expert-copies"
	stepKernels     = "kernels"    // tiles, launches and conversions, instead of a roofline at the reached rates
	stepSustained   = "sustained"  // the speed that steps sustain, instead of the speed of single kernels
	stepJitter      = "jitter"     // the variation of GPUs
	stepOverlapTP   = "tp-overlap" // tensor-parallel calls in chunks
	stepOverlapDP   = "dp-overlap" // synchronisation during passes
	stepOverlapEP   = "ep-overlap" // dispatch and combine during another pass
	stepOverlapPP   = "pp-overlap" // asynchronous transfers between stages
)

// stepParts are the parts of steps of dense models, and expertStepParts of models with experts.
var (
	stepParts       = append([]string{stepOverlapTP}, commonStepParts...)
	expertStepParts = append([]string{stepExperts, stepOverlapEP}, commonStepParts...)
	commonStepParts = []string{stepCollectives, stepKernels, stepSustained, stepJitter, stepOverlapDP, stepOverlapPP}
)

// stepRouter is the router of the network between nodes, which does not block.
const stepRouter = "ecmp"

// chunkedShare is the share of a product that overlaps with the tensor-parallel call before it, if
// frameworks divide both into four chunks: all but the first.
const chunkedShare = 0.75

// framework describes the habits of a training framework.
type framework struct {
	keys      string  // of [workload]
	overlap   string  // dimensions of parallelism whose communication is hidden
	attention string  // kernel; empty is the fastest of the machine
	hidden    float64 // share of tensor-parallel calls that overlap hides, fitted to T-MEGASCALE-ABL-004; 0 means all
}

// frameworks are the frameworks of published rows. The parameter "overlap" of a recipe replaces
// overlap.
var frameworks = map[string]framework{
	// Megatron-LM of 2021 has no sequence parallelism, no fused attention and no asynchronous
	// transfers, and reduces gradients in FP16 (Narayanan et al. 2021).
	"megatron-2021":   {keys: "sequence_parallel = false\nattention_flops = \"full\"\nsharding = \"none\"\ngradient_bytes = 2\n", attention: "unfused"},
	"megatron-2023":   {},
	"megascale":       {hidden: 0.7},
	"llama3":          {overlap: "dp pp"},
	"megatron-bridge": {keys: "gradient_bytes = 2\n", overlap: "tp dp pp"},
	"torchtitan":      {overlap: "dp pp", hidden: 0.7, attention: "flash2"},
	"maxtext":         {keys: "gradient_bytes = 2\n", overlap: "tp dp pp"},
}

// recipesCSV holds what configuration files and papers say about rows that do not state it. A line
// applies to a row if the row's source contains the line's source, the name of its machine begins
// with the line's machine, and it has the line's parameters. Earlier lines prevail.
//
//go:embed recipes.csv
var recipesCSV []byte

// recipe is a line of recipesCSV.
type recipe struct {
	source, machine       string
	condition, parameters Parameters
}

// recipes returns the lines of recipesCSV.
var recipes = sync.OnceValue(func() (all []recipe) {
	lines, err := csv.NewReader(bytes.NewReader(recipesCSV)).ReadAll()
	if err != nil {
		panic(err) // TestRecipes reads them
	}
	for _, fields := range lines[1:] {
		all = append(all, recipe{fields[0], fields[1], parseParameters(fields[2]), parseParameters(fields[3])})
	}
	return all
})

// applies reports whether the recipe describes row r on a machine.
func (x *recipe) applies(r *Row, machine string) bool {
	if !strings.Contains(strings.ToLower(r.Source), strings.ToLower(x.source)) || !strings.HasPrefix(machine, x.machine) {
		return false
	}
	for name, value := range x.condition {
		if modelName(r.Parameters[name]) != modelName(value) {
			return false
		}
	}
	return true
}

// trainingJob is a training step, as a row and the recipes describe it.
type trainingJob struct {
	Parameters // of the row, completed by recipes
	row        *Row
	profile    string // its name or file
	machine    *machine.Profile
	framework  string
	overlap    string // dimensions of parallelism whose communication is hidden

	gpus, tp, pp, cp, ep, vp    int
	batch, microbatch, sequence int
	model                       training.Architecture
	precision                   string // of matrix products
}

// readTrainingJob reads the step of a row on a machine.
func readTrainingJob(r *Row, profile string) (*trainingJob, error) {
	p, err := profileOf(profile)
	if err != nil {
		return nil, err
	}
	j := &trainingJob{Parameters: maps.Clone(r.Parameters), row: r, profile: profile, machine: p, gpus: r.GPUs}

	// A table may list the value of a second machine in brackets, as in "tp=1 (2)".
	for name, value := range j.Parameters {
		if before, _, found := strings.Cut(value, " ("); found && bracketed.MatchString(value) {
			j.Parameters[name] = before
		}
	}
	if text := j.Parameters["case"]; text != "" { // such as "FSDP 4 CP 2"
		for _, pair := range degrees.FindAllStringSubmatch(text, -1) {
			j.Parameters[strings.ToLower(pair[1])] = pair[2]
		}
	}
	for i := range recipes() {
		if x := &recipes()[i]; x.applies(r, profile) {
			for name, value := range x.parameters {
				if unknown(j.Parameters[name]) {
					j.Parameters[name] = value
				}
			}
		}
	}

	// The source names the framework, if the recipes do not.
	j.framework = j.Parameters["framework"]
	for _, name := range []string{"torchtitan", "maxtext"} {
		if j.framework == "" && strings.Contains(strings.ToLower(r.Source), name) {
			j.framework = name
		}
	}
	j.framework = cmp.Or(j.framework, "megatron-bridge")
	j.overlap = frameworks[j.framework].overlap
	if j.Parameters["tp_mode"] == "async" {
		j.overlap += " tp"
	}
	if text, stated := j.Parameters["overlap"]; stated {
		j.overlap = text
	}
	j.precision = readPrecision(j.Parameters)
	if err := cmp.Or(j.readSizes(), j.readModel()); err != nil {
		return nil, err
	}
	return j, nil
}

// bracketed matches numbers with a second number in brackets, and degrees the degrees of
// parallelism in a text.
var (
	bracketed = regexp.MustCompile(`^[0-9]+ \([0-9]+\)$`)
	degrees   = regexp.MustCompile(`(FSDP|CP|TP|PP|EP) ([0-9]+)`)
)

// readSizes reads the degrees of parallelism and the batch.
func (j *trainingJob) readSizes() (err error) {
	count := func(missing int, names ...string) int {
		for _, name := range names {
			if !unknown(j.Parameters[name]) {
				n, errCount := j.Count(name, missing)
				err = cmp.Or(err, errCount)
				return n
			}
		}
		if missing == 0 {
			err = cmp.Or(err, fmt.Errorf("the row does not state %s", names[0]))
		}
		return missing
	}
	if j.gpus == 0 {
		return errors.New("the row does not state the number of GPUs")
	}
	j.tp, j.pp, j.cp, j.ep, j.vp = count(1, "tp"), count(1, "pp"), count(1, "cp"), count(1, "ep"), count(1, "vp")
	j.sequence, j.microbatch = count(0, "seq"), count(1, "mbs", "local_batch")
	if err != nil {
		return err
	}
	if j.gpus%(j.tp*j.pp*j.cp) != 0 {
		return fmt.Errorf("tp %d, pp %d and cp %d do not divide %d GPUs", j.tp, j.pp, j.cp, j.gpus)
	}
	if text, found := strings.CutSuffix(j.Parameters["tokens_per_batch"], "M"); found {
		millions, _ := strconv.Atoi(text)
		j.Parameters["gbs"] = strconv.Itoa(millions << 20 / j.sequence)
	}
	perRound := j.microbatch * j.replicas()
	if j.batch = count(perRound, "gbs", "batch"); err == nil && j.batch%perRound != 0 {
		err = fmt.Errorf("a batch of %d is no multiple of %d replicas with micro-batches of %d", j.batch, j.replicas(), j.microbatch)
	}
	return err
}

// replicas returns the number of groups of GPUs that each process a micro-batch.
func (j *trainingJob) replicas() int { return j.gpus / (j.tp * j.pp * j.cp) }

// modelName returns the name of a model in lower case, without separators and words in brackets, such
// as qwen3235ba22b.
func modelName(text string) string {
	text, _, _ = strings.Cut(strings.ToLower(text), " (")
	return strings.NewReplacer("-", "", "_", "", " ", "", ".", "").Replace(strings.TrimSuffix(text, " lora"))
}

// modelNames maps other names of models, as modelName returns them, to presets.
var modelNames = map[string]string{
	"deepseekv3": "deepseek-671b", "llama318b": "llama3-8b", "llama3170b": "llama3-70b", "llama31405b": "llama3-405b",
	"llama3370b": "llama3-70b", "gpt175b": "gpt3-175b", "gpt3": "gpt3-175b",
}

// readModel determines the model: a preset, a model of MaxText by its size, or one that is given by
// its shape.
func (j *trainingJob) readModel() error {
	text := j.Parameters["model"]
	name := modelName(text)
	if strings.HasPrefix(name, "gpt175b") { // its shape follows
		name = "gpt175b"
	}
	preset := modelNames[name]
	for _, known := range training.ModelNames() {
		if modelName(known) == name {
			preset = known
		}
	}
	billions, errSize := strconv.Atoi(strings.TrimSuffix(name, "b"))
	a, isPreset := training.Model(preset)
	switch {
	case isPreset:
		j.model = a
	case text == "":
		return j.readShape()
	case errSize == nil && j.framework == "maxtext":
		return j.scaleModel(billions)
	default:
		return fmt.Errorf("sim has no model %s", text)
	}

	// Multi-token prediction adds a layer and an output head (DeepSeek-V3, Sec. 2.2).
	m := &j.model
	if preset == "deepseek-671b" && !strings.Contains(text, "w/o MTP") {
		m.Layers, m.Vocab = m.Layers+1, 2*m.Vocab
	}
	m.ParallelLayers = m.ParallelLayers || j.Parameters["parallel_layers"] == "true"
	var errs [2]error
	m.Attended, errs[0] = j.Count("attended", m.Attended)
	m.Vocab, errs[1] = j.Count("vocab", m.Vocab)
	return errors.Join(errs[:]...)
}

// readShape reads a model that is given by its sizes: a GPT with a plain feed-forward network.
func (j *trainingJob) readShape() (err error) {
	size := func(name string, missing int) int {
		n, errSize := j.Count(name, missing)
		err = cmp.Or(err, errSize)
		return n
	}
	layers, hidden := size("layers", 0), size("hidden", 0)
	if layers == 0 || hidden == 0 {
		return errors.New("the row states neither a model nor its sizes")
	}
	heads := size("heads", max(1, hidden/128))
	j.model = training.Architecture{
		Layers: layers, Hidden: hidden, Vocab: size("vocab", 51200), Attention: "mha", Heads: heads, KVHeads: heads, HeadDim: hidden / heads,
		FFN: 4 * hidden,
	}
	return err
}

// scaleModel sets the model of MaxText with about the given billions of parameters, a power of 2. A
// factor of 8 doubles the layers and all widths; a factor of 2 doubles the heads and the width of the
// network, and a factor of 4 also the hidden width (get_individual_scales in its pyconfig.py).
func (j *trainingJob) scaleModel(billions int) error {
	if billions < 1 || bits.OnesCount(uint(billions)) != 1 {
		return fmt.Errorf("MaxText has no model of %d billion parameters", billions)
	}
	doublings := bits.Len(uint(billions)) - 1
	layers, inner, hidden := doublings/3, (doublings+2)/3, (doublings+1)/3
	j.model = training.Architecture{
		Layers: 16 << layers, Hidden: 2048 << hidden, Vocab: 32000, Attention: "mha", Heads: 16 << inner, KVHeads: 16 << inner, HeadDim: 128,
		FFN: 7168 << inner, Gated: true,
	}
	return nil
}

// readPrecision returns the number format of matrix products.
func readPrecision(p Parameters) string {
	stated, _, _ := strings.Cut(p["precision"], " (")
	text := strings.ToLower(stated + " " + p["quant"] + " " + p["case"])
	for _, format := range []struct{ word, name string }{{"nvfp4", "nvfp4"}, {"mx", "mxfp8"}, {"fp8", "fp8"}, {"float8", "fp8"}} {
		if strings.Contains(text, format.word) {
			return format.name
		}
	}
	return "bf16"
}

// scenario returns the step with the given number of micro-batches per replica as a scenario.
func (j *trainingJob) scenario(opt *Options, microbatches int) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	hides := func(dim, part string) bool { return strings.Contains(j.overlap, dim) && !opt.Omits(part) }
	gpus, host := j.simulatedGPUs(), j.hostGPUs()
	a, gpu := &j.model, &j.machine.GPU

	line("machine = %q\n[workload]\nkind = \"training\"\ncollectives = \"graph\"\nfold = true\nembedding = true", j.profile)
	line("sequence = %d\nmicrobatch = %d\nmicrobatches = %d\ntp = %d\npp = %d\ncp = %d\ngpus = %d", j.sequence, j.microbatch,
		microbatches, j.tp, j.pp, j.cp, gpus)
	b.WriteString(frameworks[j.framework].keys)

	// The pipeline: frameworks count the embedding and the head as layers of their chunks.
	vp := min(j.vp, max(1, a.Layers/j.pp))
	if vp > 1 {
		line("schedule = \"interleaved-1f1b\"\nvirtual_stages = %d", vp)
	}
	if a.Layers%(j.pp*vp) == 0 {
		line("stage_split = \"layers\"")
	}
	if j.pp > 1 && !hides("pp", stepOverlapPP) {
		line("blocking_sends = true")
	}
	if j.tp > 1 && a.Experts == 0 && hides("tp", stepOverlapTP) { // with experts, it would hide their calls too
		line("overlap_calls = %g\nhidden_calls = %g", chunkedShare, cmp.Or(frameworks[j.framework].hidden, 1))
	}

	// The parameters.
	switch hidden := hides("dp", stepOverlapDP); {
	case j.shardGroup() > 1:
		line("sharding = \"parameters\"\nshard_group = %d", min(j.shardGroup(), gpus/(j.tp*j.pp*j.cp)))
		if !hidden {
			line("prefetch = 0")
		}
	case hidden:
		line("overlap_sync = true")
	case vp > 1:
		line("sync_at_end = true")
	}
	if strings.Contains(strings.ToLower(j.Parameters["task"]+j.Parameters["model"]), "lora") {
		line("frozen = true")
	}
	gathersFP8 := j.precision != "bf16" && j.framework == "megatron-bridge" || strings.Contains(j.Parameters["precision"], "fp8 all-gather")
	if gathersFP8 {
		line("parameter_bytes = 1")
	}

	// The computation.
	recompute := cmp.Or(j.Parameters["recompute"], j.Parameters["ac"], "none")
	if strings.HasPrefix(recompute, "selective") {
		recompute = "products" // the default of PyTorch
	}
	line("recompute = %q", recompute)
	if opt.Omits(stepKernels) {
		p := machine.Precision(j.precision)
		line("compute = \"roofline\"\npeak_tflops = %g\nmemory_bandwidth = \"%.0fbps\"", gpu.Peak.Of(p)*gpu.Efficiency.Of(p),
			float64(gpu.Memory)*gpu.MemoryEfficiency)
	} else {
		line("compute = \"profile\"\nprecision = %q", j.precision)
		if kernel := frameworks[j.framework].attention; kernel != "" {
			line("attention_kernel = %q", kernel)
		}
		if opt.Omits(stepSustained) {
			line("sustained = 1.0")
		}
	}
	if v := j.machine.Step.Variation; opt.Omits(stepJitter) {
		line("jitter = 0.0\nstraggler_share = 0.0")
	} else if simulated := v.Slowdown(gpus) - 1; simulated > 0 && gpus < j.gpus {
		line("jitter = %g", v.Jitter*(v.Slowdown(j.gpus)-1)/simulated)
	}

	// The experts: models with latent attention limit them to four nodes, and their libraries send
	// one copy per node, or per GPU inside one.
	sendsCopies := a.Experts > 0 && a.Attention == "mla" && !opt.Omits(stepExperts)
	if a.Experts > 0 {
		line("preset = \"consistent\"\nep = %d\netp = %d", j.ep, j.expertGroup()/j.ep)
	}
	if vp > 1 && strings.Contains(j.overlap, "ep") && !opt.Omits(stepOverlapEP) {
		line("overlap_passes = \"pairs\"")
	}
	if nodes := j.expertGroup() / host; sendsCopies && nodes > 1 {
		line("expert_copies = \"node\"\nnode_gpus = %d\nexpert_nodes = %d", host, min(4, nodes))
	} else if sendsCopies {
		line("expert_copies = \"gpu\"\nnode_gpus = %d", host)
	}
	line("[workload.architecture]\n%s", architectureKeys(a))

	// A cluster has a network between hosts. Small jobs use one host.
	line("[fabric]\nkind = \"cluster\"\nhosts = %d\ngpus_per_host = %d\nhosts_per_pod = %[1]d\noversubscription = 1024.0",
		max(2, gpus/host), host)
	algorithm := "nccl"
	switch {
	case opt.Omits(stepCollectives) || j.machine.Collectives.Library == "":
		algorithm = "direct" // without costs
	case sendsCopies: // not by NCCL
		algorithm = "tp=nccl,cp=nccl,dp=nccl,ep=direct"
	}
	line("[policy]\nrouters = [%q]\ncollective = %q", stepRouter, algorithm)
	return b.String()
}

// expertGroup returns the GPUs of a stage with experts: the expert-parallel ranks, or the GPUs of one
// micro-batch if these are more.
func (j *trainingJob) expertGroup() int {
	group := j.ep
	for group%(j.tp*j.cp) != 0 {
		group += j.ep
	}
	return group
}

// architectureKeys returns the keys of a model.
func architectureKeys(a *training.Architecture) string {
	var b strings.Builder
	fmt.Fprintf(&b, "attention = %q\ngated = %t\n", a.Attention, a.Gated)
	for _, x := range []struct {
		key   string
		value int
	}{
		{"layers", a.Layers}, {"hidden", a.Hidden}, {"vocab", a.Vocab}, {"heads", a.Heads}, {"q_rank", a.QRank}, {"kv_rank", a.KVRank},
		{"rope_dim", a.RopeDim}, {"nope_dim", a.NopeDim}, {"value_dim", a.ValueDim}, {"head_dim", a.HeadDim}, {"ffn", a.FFN},
		{"experts", a.Experts}, {"top_k", a.TopK}, {"expert_ffn", a.ExpertFFN}, {"shared_experts", a.SharedExperts},
		{"dense_layers", a.DenseLayers}, {"attended", a.Attended}, {"attended_layers", a.AttendedLayers},
		{"index_heads", a.IndexHeads}, {"index_dim", a.IndexDim},
	} {
		if x.value > 0 {
			fmt.Fprintf(&b, "%s = %d\n", x.key, x.value)
		}
	}
	if a.Attention == "gqa" {
		fmt.Fprintf(&b, "kv_heads = %d\n", a.KVHeads)
	}
	if a.ParallelLayers {
		fmt.Fprintln(&b, "parallel_layers = true")
	}
	return b.String()
}

// Limits of scenarios. Replicas do the same at the same time, so that a larger step differs only in
// the variation of its GPUs and in the length of rings, and a larger slice of TPUs in the latter.
const (
	maxSimulatedGPUs = 1024
	maxSliceChips    = 1024
)

// simulatedGPUs returns the GPUs of the scenario: whole replicas and, of TPUs, whole slices.
func (j *trainingJob) simulatedGPUs() int {
	unit, all := j.tp*j.pp*j.cp, j.gpus
	if j.model.Experts > 0 {
		unit = max(unit, j.pp*j.expertGroup())
	}
	if j.isTPU() {
		unit = j.hostGPUs()
		all = unit * max(1, j.row.Nodes)
	}
	return max(1, min(all, maxSimulatedGPUs)/unit) * unit
}

// isTPU reports whether the nodes of the row are slices of TPUs.
func (j *trainingJob) isTPU() bool { return strings.HasPrefix(j.machine.Name, "tpu") }

// hostGPUs returns the GPUs of a host in the scenario: the GPUs of a node that the job uses,
// or the chips of a slice of TPUs.
func (j *trainingJob) hostGPUs() int {
	if j.isTPU() {
		return min(j.gpus/max(1, j.row.Nodes), maxSliceChips)
	}
	host := min(j.machine.GPUsPerNode, j.gpus)
	for j.gpus%host != 0 {
		host--
	}
	return host
}

// shardGroup returns the number of replicas that share parameters: as stated, or under MaxText the
// replicas of a node or slice. It is 1 if each replica has all parameters.
func (j *trainingJob) shardGroup() int {
	group, _ := j.Count("fsdp", 1)
	if j.framework == "maxtext" && unknown(j.Parameters["fsdp"]) {
		group = j.replicas() / max(1, j.row.Nodes)
	}
	if j.isTPU() {
		group = min(group, j.hostGPUs()/(j.tp*j.pp*j.cp))
	}
	return max(1, min(group, j.replicas()))
}

// predictTraining predicts the speed of a training step.
func predictTraining(ctx context.Context, r *Row, profile string, opt *Options) (float64, error) {
	j, err := readTrainingJob(r, profile)
	if err != nil {
		return 0, err
	}
	seconds, err := j.seconds(ctx, opt)
	if err != nil {
		return 0, err
	}
	return j.inUnit(seconds)
}

// seconds returns the predicted time of a step. After the warm-up of the pipeline, each further round
// of micro-batches takes the same time, so that many rounds are extrapolated from few.
func (j *trainingJob) seconds(ctx context.Context, opt *Options) (float64, error) {
	simulate := func(microbatches int) (float64, error) {
		s, err := scenarios.Parse(j.row.ID, []byte(j.scenario(opt, microbatches)), nil)
		if err != nil {
			return 0, err
		}
		p, err := scenarios.Prepare(ctx, s)
		if err != nil {
			return 0, err
		}

		// The measures of the network that Finish adds are not needed.
		const oneWorker = 1
		a, err := p.System.Decide(ctx, stepRouter, oneWorker, math.Inf(1))
		if err != nil || a.Err != nil {
			return 0, cmp.Or(err, a.Err)
		}
		return a.Row.Metrics["makespan_s"], nil
	}
	all := j.batch / (j.microbatch * j.replicas())
	few, more := max(2, j.pp), 2*max(2, j.pp)
	if j.vp == 1 {
		more = few + max(1, j.pp/4)
	}
	if all <= more {
		return simulate(all)
	}
	a, errFew := simulate(few)
	b, errMore := simulate(more)
	return a + (b-a)*float64(all-few)/float64(more-few), cmp.Or(errFew, errMore)
}

// inUnit returns the speed of a step of the given seconds in the unit of the row.
func (j *trainingJob) inUnit(seconds float64) (float64, error) {
	tokens := float64(j.batch) * float64(j.sequence) / float64(j.gpus) // per GPU
	teraflops := tokens * j.flopsPerToken() / seconds / 1e12
	switch r := j.row; {
	case r.Unit == "tok/s/GPU":
		return tokens / seconds, nil
	case strings.HasPrefix(r.Unit, "TFLOP/s/"):
		return teraflops, nil
	case r.Metric == "iteration_time" && r.Unit == "s":
		return seconds, nil
	case r.Metric == "iteration_time" && r.Unit == "ms":
		return seconds * 1e3, nil
	case r.Metric == "MFU" && r.Unit == "%":
		return 100 * teraflops / j.machine.GPU.Peak.BF16, nil
	default:
		return 0, fmt.Errorf("sim does not predict %s in %s", r.Metric, r.Unit)
	}
}

// flopsPerToken returns the operations of the model per token, as publications count them: two per
// parameter in the forward pass and four in the backward pass, and attention to all tokens of the
// sequence, also if the model has a window. Narayanan et al. (2021) also count recomputation.
func (j *trainingJob) flopsPerToken() float64 {
	a := j.model
	idle := float64(a.Layers-a.DenseLayers) * float64(max(0, a.Experts-a.TopK)) * a.ExpertParameters()
	active := a.Parameters() - idle + float64(a.Vocab)*float64(a.Hidden)
	passes := 3.0
	if j.framework == "megatron-2021" && j.Parameters["recompute"] == "full" {
		passes = 4
	}
	return passes * (2*active + 4*float64(a.Layers)*a.AttentionWidth()*float64(j.sequence))
}
