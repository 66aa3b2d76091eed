// This file checks fabric "scaleup" with switches that reconfigure: the sizes and chunks
// of an all-to-all, files of plans, and the number of chunks and hops that planners list.
// kind_fixed_topology.go covers switches that keep one topology.
//
// The methods of checker report faults of keys as "PROBLEM; REMEDY". A check is skipped if
// a key that it needs has a fault already (c.OK).

package scenarios

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"sim/internal/text"
	"sim/policies/reconfigure"
	"sim/policies/reconfigure/plan"
	"sim/policies/reconfigure/rounds"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/input"
	"sim/scenarios/schema"
)

// sizeNames are the values of the key sizes other than the name of a file.
var sizeNames = []string{"uniform", "random", "zipf", input.ListedSizes}

// maxChunks limits the chunks of an all-to-all, because plans list chunks one by one. A
// transmission of a chunk takes 28 bytes, so a plan that sends each chunk once takes up to
// 1.9 GB.
const maxChunks = 1 << 26

// exchangeTable returns the table with the keys of the all-to-all.
func (s *Scenario) exchangeTable() string {
	if s.isTraining() {
		return "workload.experts"
	}
	return "workload"
}

// prepareExchange reads the sizes of messages from the file that the key sizes names.
func prepareExchange(c *checker) {
	key := c.s.exchangeTable() + ".sizes"
	name := c.s.Workload.Exchange.Sizes
	if !c.Given(key) || !c.OK(key) || slices.Contains(sizeNames, name) {
		return
	}

	// A text that resembles the name of a distribution is a misspelling. Any other text is
	// the name of a file.
	want := "write " + schema.QuotedList(sizeNames) + " or the name of a CSV file"
	if meant := text.Nearest(name, sizeNames); meant != "" && !strings.ContainsAny(name, "./") {
		c.rejectf(key, "%s is not a distribution of message sizes; did you mean %s?", schema.Quote(name), meant)
		return
	}

	if c.Given(c.s.exchangeTable() + ".matrix") {
		c.rejectf(key, "names a file, but matrix is given too; keep one of the two")
		return
	}

	n, entries := c.readMatrix(key, name, matrixWords{quantity: "sizes", endpoint: "GPU", want: want})
	if entries == nil {
		return
	}

	// A list of entries does not contain the number of GPUs. It is the number of GPUs in
	// the domain, or larger if an entry names a GPU beyond it.
	if n == 0 {
		if gpus, ok := schema.Child(c.Root, "fabric")["gpus"].(int64); ok &&
			gpus > 0 &&
			gpus <= maxDenseEndpoints {
			n = int(gpus)
		}
		for _, e := range entries {
			n = max(n, int(e.Src)+1, int(e.Dst)+1)
		}
	}

	// The resolved scenario stores the sizes as rows, whose size is limited.
	rows := denseRows(n, entries)
	if rows == nil || textBytes(rows) > maxStoredMatrixBytes {
		c.rejectf(key,
			"%s has sizes of %d GPUs, which are too many to be stored with results; write at most %d GPUs",
			name, n, maxDenseEndpoints)
		return
	}

	c.s.Workload.Exchange.Sizes, c.s.Workload.Exchange.Matrix = input.ListedSizes, rows
	c.MarkGiven(c.s.exchangeTable() + ".matrix")
}

// trimByteOrderMark removes the UTF-8 byte order mark that some editors write.
func trimByteOrderMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\uFEFF")) }

// prepareImport reads the plans in the file that policy.imported names, and checks their
// SHA-256 if it is given.
func prepareImport(c *checker) {
	p := &c.s.Policy.Imported
	key := c.PathOf(&p.File)
	if !c.Given(key) || !c.OK(key) {
		return
	}

	data, fileName, err := c.readRelative(key, p.File)
	if err != nil {
		c.rejectf(key, "%s; name a file that --plan-out wrote", err.Error())
		return
	}

	plans, err := plan.ReadJSON(bytes.NewReader(trimByteOrderMark(data)), fileName)
	if err == nil && len(plans) == 0 {
		err = fmt.Errorf("%s holds no plans", fileName)
	}
	if err != nil {
		c.rejectf(key, "%s; write plans as --plan-out does (docs/plans.md)", err.Error())
		return
	}

	// The checksum of a resolved scenario shows that the file has changed.
	sum := sha256.Sum256(data)
	if digest := hex.EncodeToString(sum[:]); p.SHA256 == "" {
		p.SHA256 = digest
	} else if p.SHA256 != digest {
		c.rejectf(c.PathOf(&p.SHA256),
			"does not match %s; leave it out, or name the file that it belongs to",
			fileName)
	}

	p.File = fileName
}

// checkScaleUp checks a scale-up domain whose switches reconfigure, and its workload: an
// all-to-all, the expert all-to-alls of a training step, or another collective.
func checkScaleUp(c *checker) {
	s := c.s
	w, f := &s.Workload, &s.Fabric.ScaleUp
	if !c.OK("workload.kind") {
		return
	}
	if !c.OK("fabric.gpus", "fabric.switches") {
		return
	}

	c.conflictIf(f.Switches >= f.GPUs, "fabric.switches fabric.gpus",
		"%d switches for %d GPUs; write at most %d: with so many every GPU has a link to every other",
		f.Switches, f.GPUs, f.GPUs-1)

	if s.plansNonAllToAll() {
		checkScaleUpCollective(c)
		return
	}

	table := s.exchangeTable()
	if !c.OK(table+".sizes", table+".chunk", table+".matrix", "workload.message") {
		return
	}

	// Sizes and chunks of the messages.
	if w.Exchange.Chunk < 1 {
		c.conflictf(table+".chunk", "is no size; write at least 1 B")
		return
	}

	// The experts of a training step determine the size of the domain.
	if s.isTraining() {
		checkExperts(c)
		if len(c.Diagnostics) > 0 {
			return
		}
	}

	// The sizes are listed, or are drawn around a mean.
	if w.Exchange.Sizes == input.ListedSizes {
		if !checkSizeMatrix(c, f.GPUs) {
			return
		}
	} else if !s.isTraining() && w.Exchange.Message < 1 {
		c.conflictf("workload.message", "is nothing to send; write at least 1 B")
		return
	}

	chunks, ok := checkChunks(c)
	if !ok {
		return
	}
	checkPlanDuration(c, chunks)
	if s.Engine.Level == "packet" && !s.isTraining() {
		checkSlowLinks(c)
		c.conflictIf(w.Exchange.Chunk > assembly.MaxPacketSize, table+".chunk",
			`packets of %v; write at most %d B, or set engine.level = "plan" or "flow"`,
			w.Exchange.Chunk, int64(assembly.MaxPacketSize))
	}

	// With one switch, a generalised Kautz graph is not connected. The table of the options
	// has the name of the planner that reads them.
	_, planner := schema.CutLast(c.PathOf(&s.Policy.During))
	isUsed := slices.Contains(s.Policy.Planners, planner)
	if isUsed && s.Policy.During.Base == rounds.GenKautz && f.Switches == 1 {
		c.conflictf(c.PathOf(&s.Policy.During.Base)+" fabric.switches",
			"a generalised Kautz graph of one switch connects only pairs of GPUs; choose another base, or at least 2 switches")
	}
	if len(c.Diagnostics) == 0 {
		checkPlans(c)
	}
}

// checkScaleUpCollective checks a collective other than an all-to-all. Each GPU has a part
// of the message, and the planners must plan such collectives.
func checkScaleUpCollective(c *checker) {
	s := c.s
	message, gpus := s.Workload.Exchange.Message, s.Fabric.ScaleUp.GPUs
	if c.OK("policy.planners") {
		lacksCollectives := func(name string) bool { return reconfigure.ByName(name).Collective == nil }
		if i := slices.IndexFunc(s.Policy.Planners, lacksCollectives); i >= 0 {
			c.conflictf("policy.planners", "%s does not plan %s; choose from %s",
				s.Policy.Planners[i], s.Workload.Kind, schema.QuotedList(collectivePlanners()))
		}
	}
	c.conflictIf(c.OK("workload.message") && int64(message) < int64(gpus), "workload.message",
		"%v does not give each of %d GPUs a byte; write at least %d B",
		message, gpus, gpus)
	checkCollectiveDuration(c)
}

// checkChunks estimates the number of chunks of an all-to-all and returns it. It returns
// false if there are too many: plans list all chunks, and some planners list every hop of
// every chunk.
func checkChunks(c *checker) (chunks float64, ok bool) {
	s := c.s
	w, f := &s.Workload.Exchange, &s.Fabric.ScaleUp
	keys := s.exchangeTable() + ".chunk workload.message fabric.gpus"

	// meanBytes is the mean size of a message.
	meanBytes := float64(w.Message)
	if s.isTraining() {
		meanBytes = float64(s.Workload.Spec.ExpertBytes())
	}
	if w.Sizes == input.ListedSizes {
		meanBytes = 0
		for _, row := range w.Matrix {
			for _, b := range row {
				meanBytes += float64(b) / float64(f.GPUs*f.GPUs)
			}
		}
	}

	// The last chunk of a message may be partly empty.
	chunks = (meanBytes/float64(w.Chunk) + 1) * float64(f.GPUs) * float64(f.GPUs-1)
	if chunks > maxChunks {
		c.conflictf(keys, "%.3g chunks in all; choose larger chunks, for at most %d", chunks, maxChunks)
		return chunks, false
	}

	// On a ring of GPUs, a chunk makes at most GPUs / Switches hops.
	hops := chunks * float64(f.GPUs) / float64(f.Switches)
	listsHops := func(name string) bool {
		r := reconfigure.ByName(name)
		return r.HasOneTopology || r.ListsHopsIfUnequal && w.Sizes != "uniform"
	}
	if i := slices.IndexFunc(s.Policy.Planners, listsHops); i >= 0 && hops > maxChunkHops {
		c.conflictf(keys,
			"%.3g chunks may take %.3g hops, which %s lists one by one; choose larger chunks, or other planners",
			chunks, hops, s.Policy.Planners[i])
		return chunks, false
	}
	return chunks, true
}

// checkSlowLinks rejects links that are too slow for the simulation of packets.
func checkSlowLinks(c *checker) {
	if rate := c.s.Fabric.ScaleUp.LinkRate; c.OK("fabric.link_rate") && rate < assembly.MinLinkRate {
		c.conflictf("fabric.link_rate",
			`%v is too slow for packets; write at least %v, or set engine.level = "plan" or "flow"`,
			rate, assembly.MinLinkRate)
	}
}

// checkCollectiveDuration rejects a collective that may take longer than simulated time can
// represent. The diagnostic names the first of latency and reconfiguration delay that makes
// it too long, or else the message.
func checkCollectiveDuration(c *checker) {
	s := c.s
	const rateKey, latencyKey, delayKey, messageKey = "fabric.link_rate", "fabric.link_latency",
		"fabric.reconfiguration_delay", "workload.message"
	if len(c.Diagnostics) > 0 || !c.OK(rateKey, latencyKey, delayKey, messageKey) {
		return
	}

	if s.Engine.Level == "packet" {
		checkSlowLinks(c)
	}

	// Slow links make steps longer than simulated time can represent.
	if rate := s.Fabric.ScaleUp.LinkRate; rate < plan.MinLinkRate {
		c.conflictf(rateKey, "%v is too slow for steps; write at least 2kbps", rate)
		return
	}

	p := s.plansView().Collective()
	if p.Check() == nil {
		return
	}

	// Remove latency and delay one after the other, until the collective is short enough.
	for _, removal := range []struct {
		key   string
		apply func()
	}{
		{latencyKey, func() { p.Latency = 0 }},
		{delayKey, func() { p.Delay = 0 }},
	} {
		removal.apply()
		if p.Check() == nil {
			c.conflictf(removal.key,
				"the collective may take longer than simulated time, which is 106 days; choose a shorter time")
			return
		}
	}

	c.conflictf(messageKey+" "+rateKey,
		"the collective may take longer than simulated time, which is 106 days; choose a smaller message, or faster links")
}

// maxChunkHops limits the hops of chunks that planners list one by one. It is compared with
// an upper bound; most plans take far fewer hops.
const maxChunkHops = 1 << 30

// checkPlanDuration rejects all-to-alls that may take longer than simulated time can
// represent. The upper bound is one reconfiguration per GPU, and all chunks one after the
// other around a ring. A training step has four all-to-alls per layer and micro-batch.
func checkPlanDuration(c *checker, chunks float64) {
	s := c.s
	w, f := &s.Workload, &s.Fabric.ScaleUp

	// slot is the time of one chunk on one link.
	slot := f.LinkLatency.Seconds() + 8*float64(w.Exchange.Chunk)/float64(f.LinkRate)
	longest := float64(f.GPUs)*f.Delay.Seconds() + chunks*slot
	if s.isTraining() {
		const exchangesPerLayer = 4 // dispatch and combine, forward and backward
		longest *= exchangesPerLayer * float64(w.Arch.Layers*w.Microbatches)
	}
	if !(longest < maxIterationSeconds) {
		c.conflictf(
			"fabric.reconfiguration_delay fabric.link_latency fabric.link_rate "+c.s.exchangeTable()+".chunk",
			"reconfigurations and chunks may take %.3g s, which is too long to simulate; stay within %d s",
			longest, maxIterationSeconds,
		)
	}
}

// checkSizeMatrix checks that the listed sizes form a matrix with a row and a column per
// GPU, with zeros on the diagonal. It returns false if they do not.
func checkSizeMatrix(c *checker, n int) bool {
	m := c.s.Workload.Exchange.Matrix
	matrixKey, sizesKey := c.s.exchangeTable()+".matrix", c.s.exchangeTable()+".sizes"

	// Name the key sizes first if the matrix was read from a file.
	keys := matrixKey + " " + sizesKey
	if !containsKey(c.Root, matrixKey) {
		keys = sizesKey + " " + matrixKey
	}
	if len(m) == 0 {
		c.conflictf(keys, "is empty; write %d rows of %d sizes in bytes", n, n)
		return false
	}

	if !c.checkSquareRows(keys, m, n, "GPU", fmt.Sprintf("set fabric.gpus = %d, or ", len(m))) {
		return false
	}

	sends := slices.ContainsFunc(m, func(row []int) bool { return slices.Max(row) > 0 })
	c.conflictIf(!sends, keys, "is nothing to send; write sizes above 0")
	return sends
}

// checkSquareRows checks that m is a square matrix with n rows and zeros on the diagonal.
// endpoint is the name of a row's owner in messages, such as "GPU". alternative is a
// remedy, ending in "or ", that is suggested before the remedy of writing n rows. It
// returns false if the matrix is invalid.
func (c *checker) checkSquareRows(keys string, m [][]int, n int, endpoint, alternative string) bool {
	for i, row := range m {
		if len(row) != len(m) {
			c.conflictf(keys,
				"row %d has %d numbers, and there are %d rows; a matrix is square",
				i+1, len(row), len(m))
			return false
		}

		if row[i] != 0 {
			c.conflictf(keys, "%s %d sends itself %d bytes; write 0 on the diagonal", endpoint, i, row[i])
			return false
		}
	}

	c.conflictIf(len(m) != n, keys,
		"%d rows for %d %ss; %swrite a row for each %s",
		len(m), n, endpoint, alternative, endpoint)
	return len(m) == n
}

// checkExperts checks a training step against the scale-up domain, which must hold the GPUs
// of one stage.
func checkExperts(c *checker) {
	w, f := &c.s.Workload, &c.s.Fabric.ScaleUp

	// The domain holds the GPUs of one stage, over which the experts are spread.
	switch stage := w.EP * w.ETP; {
	case w.Arch.Experts == 0:
		c.conflictf("workload.model workload.architecture.experts",
			"has no experts, so its stages exchange nothing; choose a model with experts, such as deepseek-671b")
	case stage < 2:
		c.conflictf("workload.ep", "keeps all experts on one GPU; spread them over at least 2 GPUs")
	case f.GPUs != stage:
		c.conflictf("fabric.gpus workload.ep",
			"%d GPUs in a domain, %d in a stage; set fabric.gpus = %d",
			f.GPUs, stage, stage)
	case len(c.s.Replicas) > 0:
		c.conflictf("replica", "must be identical in scale-up domains; leave [[replica]] out")
	}

	c.conflictIf(w.ReplicaMode == "all" || w.ReplicaMode == "decomposed",
		"workload.replicas",
		`replicas in scale-up domains are identical; set workload.replicas = "single"`)
	// A micro-batch has two passes per virtual stage, each followed by a transfer.
	const tasksPerMicrobatch = 4
	tasks := tasksPerMicrobatch*float64(w.Microbatches)*float64(w.PP)*float64(w.Chunks) +
		w.SyncTaskCount(tasksPerSync)
	c.blame("workload.microbatches workload.pp workload.virtual_stages workload.buckets",
		assembly.LinkTask.Scale(tasks).CheckLimits("passes of stages and transfers between them", "fewer"))
}
