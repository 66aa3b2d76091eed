package trace

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/engine"
	"sim/engine/units"
)

// Keys are the keys of a scenario that name the files of a workload and supply
// information that the files lack.
type Keys struct {
	Files           []string   `key:"files" doc:"one file, a list of files, or a pattern in which '%d' is the rank from 0" required:""`
	Format          string     `key:"format" doc:"format of the files; 'auto' detects it" default:"auto" choices:"@formats"`
	SHA256          string     `key:"sha256" doc:"SHA-256 of the concatenated files; other content is rejected" else:"the files'"`
	GPUs            int        `key:"gpus" doc:"number of ranks, for files without this number; 0 uses the file's number" default:"0" max:"131072" implicit:"" when:"format=simai|aicb"`
	EP              int        `key:"ep" doc:"ranks of a data-parallel group that share experts, for files without this number; 0 uses the file's number" default:"0" max:"131072" implicit:"" when:"format=aicb"`
	Setup           bool       `key:"setup" doc:"whether operations before the first iteration are simulated too" default:"false" implicit:"" when:"format=aicb"`
	RankOrder       string     `key:"rank_order" doc:"order in which ranks are numbered, fastest dimension first: 'tp-dp-pp' is Megatron-LM's, 'tp-pp-dp' SimAI's" default:"tp-dp-pp" choices:"tp-dp-pp|tp-pp-dp" when:"format=simai"`
	Schedule        string     `key:"schedule" doc:"order of forward and backward passes in a stage, if there are several stages" default:"1f1b" choices:"1f1b|eager-1f1b|gpipe|zb-h1|zb-h2" when:"format=simai"`
	Groups          string     `key:"groups" doc:"JSON file with the ranks of each communicator by name; '' uses the trace files" default:"" implicit:"" unset:"" when:"format=chakra"`
	Streams         string     `key:"streams" doc:"operations of a rank that run one at a time, in the order in which they become ready: 'chained', kernels of a stream; 'one-at-a-time', host operations, kernels and messages, as in ASTRA-sim; 'free', none; 'auto', chained if no kernel has a successor, otherwise free" default:"auto" choices:"auto|chained|one-at-a-time|free" when:"format=chakra"`
	ControlCycles   string     `key:"control_cycles" doc:"treatment of control dependencies that form a cycle with data dependencies: 'drop' removes and counts them, 'refuse' rejects the trace" default:"drop" choices:"drop|refuse" implicit:"" when:"format=chakra"`
	PeakTFLOPS      float64    `key:"peak_tflops" doc:"rate of a rank, in 1e12 operations per second, for computes with operations but no time; 0 means that these take no time" default:"0.0" max:"1000000" implicit:"" when:"format=chakra"`
	MemoryBandwidth units.Rate `key:"memory_bandwidth" doc:"memory bandwidth of a rank, used with peak_tflops; '0bps' means unlimited" default:"0bps" max:"1e18" implicit:"" when:"format=chakra"`
	Ranks           int        `key:"ranks" doc:"number of ranks to which the trace is scaled; 0 keeps the number of the files" default:"0" max:"131072" implicit:"" when:"format=chakra|kineto"`
	GrowthGroup     string     `key:"growth_group" doc:"communicator group of the dimension whose ranks become more or fewer; '' is the only one that can" default:"" implicit:"" when:"format=chakra|kineto"`
	RankMap         []int      `key:"rank_map" doc:"number in the simulation for each rank of the files, a permutation; ranks are assigned to nodes and pods by number" else:"in order" max:"131071" implicit:"" when:"by-rank"`
	Calls           string     `key:"collectives" doc:"how collective calls are sent: in the 'graph', expanded by policy.collective, or 'neighbours', where each rank sends all its data to its ring neighbour in one transfer" default:"graph" choices:"graph|neighbours" implicit:"" when:"by-rank"`
}

// ReadOptions are Keys with further input of the readers.
type ReadOptions struct {
	Keys
	GroupFile File // content of the file named by Groups
	// IntraStageRate is the bandwidth within a stage if its exchanges are not transfers.
	IntraStageRate units.Rate
}

// Format is a file format.
type Format struct {
	Name string
	Doc  string
	// Matches reports whether a file that starts with these bytes has the format.
	Matches func(begin []byte) bool
	// FileContent names the content of the single file, such as "all ranks". It is empty
	// if there is one file per rank.
	FileContent string
	// Read returns the job of the files, in the order of ranks.
	Read func(files []File, h *ReadOptions) (*Job, error)
	// HoldsStage states that a file holds one pipeline stage that stands for all.
	HoldsStage bool
}

// Formats are all formats, in the order in which Detect tries them.
var Formats = []Format{
	{Name: "simai", Doc: "AICB and SimAI workload text (.txt)", Matches: isSimAI, Read: readSimAI,
		HoldsStage: true, FileContent: "the whole workload"},
	{Name: "aicb", Doc: "AICB table of a real cluster's calls (.csv)", Matches: isAICB,
		Read: readAICB, FileContent: "all ranks"},
	{Name: "cm", Doc: "connection matrix of htsim (.cm)", Matches: isCM, Read: readCM,
		FileContent: "the whole matrix"},
	{Name: "goal", Doc: "GOAL schedule of LogGOPSim and ATLAHS, text or binary", Matches: isGOAL,
		Read: readGOAL, FileContent: "the whole schedule"},
	{Name: "kineto", Doc: "trace of PyTorch's profiler (Kineto, JSON), one file per rank",
		Matches: isKineto, Read: readKineto},
	{Name: "chakra", Doc: "Chakra execution trace, protobuf or JSON, one file per rank",
		Matches: isChakra, Read: readChakra},
}

// ByName returns the format with the given name, or nil.
func ByName(name string) *Format {
	if i := slices.IndexFunc(Formats, func(f Format) bool { return f.Name == name }); i >= 0 {
		return &Formats[i]
	}
	return nil
}

// Auto is the format name that selects the format by content (Detect).
const Auto = "auto"

// FormatNames returns the accepted format names.
func FormatNames() []string {
	names := []string{Auto}
	for i := range Formats {
		names = append(names, Formats[i].Name)
	}
	return names
}

// detectBytes is the length of the prefix of a file that determines its format. Comments
// may precede the first statement.
const detectBytes = 4096

// Detect returns the format of a file, or nil if it is unknown.
func Detect(f File) *Format {
	begin := f.Data[:min(len(f.Data), detectBytes)]
	for i := range Formats {
		if Formats[i].Matches(begin) {
			return &Formats[i]
		}
	}
	return nil
}

// Read reads a job, checks it and applies ReadOptions.RankMap. Job.Scale applies Keys.Ranks.
func Read(f *Format, files []File, h *ReadOptions) (*Job, error) {
	if len(files) > 1 && f.FileContent != "" {
		return nil, &Error{File: files[1].Name,
			Problem: "is a second file, and one holds " + f.FileContent, Want: "one file"}
	}

	j, err := f.Read(files, h)
	if err != nil {
		return nil, err
	}

	j.Format = f.Name
	if err := j.check(files[0].Name); err != nil || h.RankMap == nil {
		return j, err
	}
	return j.renumber(h.RankMap)
}

// renumber returns the job with rank r renumbered to numbers[r]. It fails unless numbers
// is a permutation of the ranks. The dimensions of parallelism are lost, because they
// describe the original numbering.
func (j *Job) renumber(numbers []int) (*Job, error) {
	want := fmt.Sprintf("workload.rank_map with each number from 0 to %d once", j.Ranks-1)
	if len(numbers) != j.Ranks {
		return nil, invalid(want, "workload.rank_map has %d numbers for %d ranks", len(numbers), j.Ranks)
	}

	// Move the programs.
	out := *j
	out.Ops = make([][]Op, j.Ranks)
	out.Groups = make([]Group, len(j.Groups))
	out.Dims = nil
	used := make([]bool, j.Ranks)
	for rank, n := range numbers {
		if n < 0 || n >= j.Ranks || used[n] {
			return nil, invalid(want,
				"workload.rank_map has %d for rank %d, which is not a rank or occurs before", n, rank)
		}

		used[n] = true

		// Peers are relative, so they change with both ranks.
		ops := slices.Clone(j.Ops[rank])
		for i := range ops {
			if o := &ops[i]; (o.Kind == Send || o.Kind == Recv) && o.Peer != AnySource {
				o.Peer = int32(numbers[rank+int(o.Peer)] - n)
			}
		}
		out.Ops[n] = ops
	}

	// Renumber the groups.
	for i, g := range j.Groups {
		sets := make([][]int32, len(g.Sets))
		for s, set := range g.Sets {
			for _, r := range set {
				sets[s] = append(sets[s], int32(numbers[r]))
			}
		}
		var err error
		if out.Groups[i], err = NewGroup(g.Name, j.Ranks, sets); err != nil {
			return nil, err
		}
	}

	return &out, nil
}

// check verifies the properties that jobs of all formats must have: at least one
// operation, total compute times and sizes that cannot overflow, and calls and messages
// with existing partners.
func (j *Job) check(file string) error {
	fail := func(rank, op int, want, format string, args ...any) error {
		return &Error{File: file, Problem: fmt.Sprintf("rank %d, operation %d (%.40q): ", rank, op,
			j.Ops[rank][op].Name) + fmt.Sprintf(format, args...), Want: want}
	}

	if len(j.Ops) == 0 || !slices.ContainsFunc(j.Ops, func(ops []Op) bool { return len(ops) > 0 }) {
		return &Error{File: file, Problem: "holds no operation", Want: "at least one"}
	}

	// Check each distinct program once.
	var err error
	bytes := 0.0
	j.each(func(rank, times int, ops []Op) {
		sum := engine.Time(0)
		for i := range ops {
			o := &ops[i]
			switch {
			case err != nil:
				return
			case o.Duration < 0 || sum > maxComputeTime-o.Duration:
				err = fail(rank, i,
					fmt.Sprintf("at most %.0f s per rank", maxComputeTime.Seconds()),
					"the rank computes for too long")
			case o.Bytes < 0 || o.Bytes > MaxMessageBytes:
				err = fail(rank, i, fmt.Sprintf("from 0 to %d", int64(MaxMessageBytes)),
					"%d bytes", o.Bytes)
			case o.Kind == Call && (o.Group < 0 || int(o.Group) >= len(j.Groups) ||
				j.Groups[o.Group].SetOf[rank] < 0):
				err = fail(rank, i, "a group that the rank is in", "it calls a group that it is not in")
			case (o.Kind == Send || o.Kind == Recv) && o.Peer != AnySource &&
				(rank+int(o.Peer) < 0 || rank+int(o.Peer) >= j.Ranks):
				err = fail(rank, i, fmt.Sprintf("a rank from 0 to %d", j.Ranks-1),
					"its peer is rank %d", rank+int(o.Peer))
			}

			sum += o.Duration
			bytes += float64(o.Bytes) * float64(times)
		}
	})

	const maxTotal = math.MaxInt64 / 64 // so that bits, and sums over directions, fit an int64
	if err == nil && bytes > maxTotal {
		err = &Error{File: file, Problem: fmt.Sprintf("%.3g bytes in total overflow",
			bytes), Want: "fewer bytes"}
	}
	return err
}

// Words describes the job in one line.
func (j *Job) Words() string {
	n := 0
	j.each(func(_, times int, ops []Op) { n += times * len(ops) })
	return fmt.Sprintf("%s trace of %d ranks, %d operations", j.Format, j.Ranks, n)
}

// firstWordIs reports whether the first word of a text is one of the given words.
func firstWordIs(begin []byte, words ...string) bool {
	for first := range strings.FieldsSeq(string(begin)) {
		return slices.Contains(words, first)
	}
	return false
}
