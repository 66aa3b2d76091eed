package trace

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"sim/engine"
	"sim/engine/units"
)

// isKineto reports whether a file starts like a trace of PyTorch's profiler: an object with its
// keys, or a list of events or of such objects.
func isKineto(begin []byte) bool {
	text := bytes.TrimLeft(begin, " \t\r\n")
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return false
	}
	for _, key := range []string{`"traceEvents"`, `"deviceProperties"`, `"distributedInfo"`} {
		if bytes.Contains(text, []byte(key)) {
			return true
		}
	}
	return text[0] == '[' && bytes.Contains(text, []byte(`"ph"`))
}

const (
	kinetoContent = "a trace of PyTorch's profiler"
	kinetoWhole   = "a complete file, as export_chrome_trace of PyTorch's profiler writes it"
)

// readKineto reads traces of PyTorch's profiler (Kineto), with one file per rank or with several
// ranks in a file.
//
// A message is received when its kernel runs, so no message is eager.
func readKineto(files []File, _ *ReadOptions) (*Job, error) {
	k := &kinetoReader{Job: &Job{}, ranks: map[int]*kinetoRank{}, dependencies: maxDependencies()}
	var sections []kinetoSection
	for i := range files {
		list, err := kinetoSections(&files[i])
		if err != nil {
			return nil, err
		}
		sections = append(sections, list...)
	}
	for i := range sections {
		if err := k.readSection(&sections[i], i); err != nil {
			return nil, err
		}
	}
	if err := k.checkRanks(sections); err != nil {
		return nil, err
	}

	// Find the calls of all ranks and their groups, then create the operations.
	for rank := range k.Ranks {
		if err := k.assignCalls(k.ranks[rank]); err != nil {
			return nil, err
		}
	}
	if err := k.readGroups(files[0].Name); err != nil {
		return nil, err
	}
	k.Ops = make([][]Op, k.Ranks)
	for rank := range k.Ranks {
		if err := k.makeOps(rank); err != nil {
			return nil, err
		}
	}
	if k.hostGaps > 0 {
		gaps := engine.Time(k.hostGaps/int64(k.Ranks)) * engine.Nanosecond
		k.note("GPUs wait for their host, which counts as computing: " + units.ShortTime(gaps) + " a rank on average")
	}
	return k.Job, k.checkCalls()
}

// kinetoReader reads traces in the JSON format of Chrome's trace viewer:
//
//	{"distributedInfo": {"rank": 0, "world_size": 2, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]},
//	 "traceEvents": [{"ph": "X", "cat": "kernel", "name": "gemm", "ts": 12.5, "dur": 3.25,
//	   "args": {"stream": 7, "correlation": 4}}, ...]}
//
// Times are in microseconds. These categories of events are read:
//
//	kernel, gpu_memcpy, gpu_memset   work of a stream of the GPU; kernels of NCCL make calls
//	cuda_runtime, cuda_driver        launch of the work with the same correlation
//	cpu_op record_param_comms        call of a collective, or a stream's wait for its end
//	cuda_sync                        a stream's wait for an event of another stream
//
// A kernel of NCCL has the description of its call, or the "External id" of the record with it. A
// kernel that makes several calls together (coalesced) has neither.
type kinetoReader struct {
	*Job       // the result
	ranks      map[int]*kinetoRank
	operations int              // work of GPUs and records so far, for countOperations
	index      map[string]int32 // index in Job.Groups, by name
	tags       map[string]int   // number of the group of messages, by name
	// hostGaps is the sum of the times in which GPUs wait for their host, in nanoseconds.
	hostGaps     int64
	dependencies int // further dependencies between streams that fit the memory
}

// kinetoSection is the trace of a rank, in a file.
type kinetoSection struct {
	file  *File
	data  []byte // the trace, or its list of events
	begin int    // offset of data in the file
	info  kinetoInfo
	// Offset of the list of events in data.
	events int
}

// kinetoInfo is the value of "distributedInfo".
type kinetoInfo struct {
	Rank      *int `json:"rank"`
	WorldSize int  `json:"world_size"`
	Groups    []struct {
		Name  chJSONName `json:"pg_name"`
		Ranks kinetoList `json:"ranks"`
	} `json:"pg_config"`
}

// kinetoList is a list of integers, as JSON or as a text such as "[0, 1]". Long texts are cut,
// such as "[0, 1, ..., 63]".
type kinetoList struct {
	values []int64
	isCut  bool
}

// UnmarshalJSON reads a list or a text. Other values are an empty list.
func (l *kinetoList) UnmarshalJSON(b []byte) error {
	*l = kinetoList{}
	if len(b) == 0 || b[0] != '[' && b[0] != '"' {
		return nil
	}
	text := strings.Trim(string(b), "\"[] \t\r\n")
	if text == "" {
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "..." {
			l.isCut = true
			continue
		}
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return fmt.Errorf("%.40q is no list of numbers", b)
		}
		l.values = append(l.values, n)
	}
	return nil
}

// kinetoSections returns the traces in a file: the file itself, or the elements of a list of
// traces. A list of events is one trace.
func kinetoSections(f *File) ([]kinetoSection, error) {
	// fail adds the position in the file to an error in a text that starts at begin.
	fail := func(begin int, err error) error {
		if fault := (jsonSyntaxError{}); errors.As(err, &fault) {
			return jsonError(*f, begin, err, kinetoContent, kinetoWhole)
		}
		return err
	}
	r := jsonReader{data: f.Data}
	if r.next() != '[' {
		s := kinetoSection{file: f, data: f.Data, events: -1}
		return []kinetoSection{s}, fail(0, s.readKeys())
	}

	var list []kinetoSection
	whole := kinetoSection{file: f, data: f.Data, events: r.offset}
	err := r.array(func() error {
		value, begin, err := r.value()
		if err != nil || !bytes.Contains(value[:min(len(value), detectBytes)], []byte(`"traceEvents"`)) &&
			!bytes.Contains(value[:min(len(value), detectBytes)], []byte(`"deviceProperties"`)) {
			return err
		}
		s := kinetoSection{file: f, data: value, begin: begin, events: -1}
		list = append(list, s)
		return fail(begin, list[len(list)-1].readKeys())
	})
	if err == nil && r.next() != 0 {
		err = r.syntaxError()
	}
	if len(list) == 0 {
		list = append(list, whole)
	}
	return list, fail(0, err)
}

// readKeys reads the keys of a trace and finds its list of events.
func (s *kinetoSection) readKeys() error {
	r := jsonReader{data: s.data}
	err := r.object(func(key string) error {
		if key == "traceEvents" && r.next() == '[' {
			s.events = r.offset
		}
		value, begin, err := r.value()
		if err == nil && key == "distributedInfo" {
			if err := json.Unmarshal(value, &s.info); err != nil {
				return jsonError(*s.file, s.begin+begin, err, kinetoContent,
					`"distributedInfo": {"rank": 0, "world_size": 8}`)
			}
		}
		return err
	})
	if err == nil && s.events < 0 {
		err = &Error{File: s.file.Name, Record: firstRecord, Byte: s.begin,
			Problem: "has no list traceEvents", Want: kinetoWhole}
	}
	return err
}

// kinetoEvent is an event of a trace. Its arguments are read if its category needs them.
type kinetoEvent struct {
	Phase    string          `json:"ph"`
	Category string          `json:"cat"`
	Name     string          `json:"name"`
	Start    json.Number     `json:"ts"`
	Duration json.Number     `json:"dur"`
	Rank     *int            `json:"rank"` // in files of several ranks
	Args     json.RawMessage `json:"args"`
}

// kinetoArgs are arguments of events. The first three belong to work of a GPU. Stream waits for
// work of WaitStream that was launched before WaitCorrelation. The others describe a call.
type kinetoArgs struct {
	Stream      json.Number `json:"stream"`
	Correlation json.Number `json:"correlation"`
	ExternalID  json.Number `json:"External id"`

	WaitStream      json.Number `json:"wait_on_stream"`
	WaitCorrelation json.Number `json:"wait_on_cuda_event_record_corr_id"`

	Collective  string      `json:"Collective name"`
	In          json.Number `json:"In msg nelems"`
	Out         json.Number `json:"Out msg nelems"`
	ElementType string      `json:"dtype"`
	InSplit     kinetoList  `json:"In split size"`
	OutSplit    kinetoList  `json:"Out split size"`
	Group       chJSONName  `json:"Process Group Name"`
	GroupRanks  kinetoList  `json:"Process Group Ranks"`
	GroupSize   json.Number `json:"Group size"`
	FirstRank   json.Number `json:"Global rank start"`
	RankStride  json.Number `json:"Global rank stride"`
	Src         json.Number `json:"Src Rank"`
	Dst         json.Number `json:"Dst Rank"`
	Sequence    json.Number `json:"Seq"`
}

// kinetoPlace is the place of an event in its file.
type kinetoPlace struct {
	file           *File
	record, offset int
	name           string
}

// errorAt returns an Error at the event.
func (p *kinetoPlace) errorAt(want, format string, args ...any) error {
	return &Error{File: p.file.Name, Record: p.record, Byte: p.offset,
		Problem: fmt.Sprintf("event %.60q ", p.name) + fmt.Sprintf(format, args...), Want: want}
}

// kinetoRank has the events of a rank. Times are in nanoseconds.
type kinetoRank struct {
	section  *kinetoSection
	work     []kinetoWork
	records  []*kinetoCall   // in the order of the file
	waits    []*kinetoCall   // waits of the current stream for the end of a call
	launches map[int64]int64 // time of launch, by correlation
	syncs    []kinetoSync
	calls    map[int32][]kinetoMember // calls of the rank in order, by group
}

// kinetoWork is work of a GPU: a kernel, or a copy or fill of memory.
type kinetoWork struct {
	kinetoPlace
	start, end          int64
	launch              int64 // when the host launched it
	stream, correlation int64
	isNCCL              bool
	externalID          int64 // 0 if unknown
	calls               []*kinetoCall
}

// kinetoCall is a call of a collective, or a message.
type kinetoCall struct {
	kinetoPlace
	kinetoArgs
	time       int64 // when the host made it
	externalID int64
}

// kinetoSync means that a stream waits: work that is launched after correlation waits for the
// work of waitStream that was launched before waitCorrelation.
type kinetoSync struct{ stream, correlation, waitStream, waitCorrelation int64 }

// readSection reads the events of a trace. Its rank is index if the trace does not have it.
func (k *kinetoReader) readSection(s *kinetoSection, index int) error {
	defaultRank := index
	if s.info.Rank != nil {
		defaultRank = *s.info.Rank
	}

	intern := map[string]string{} // names of kernels are long and repeated
	record := 0
	r := jsonReader{data: s.data, offset: s.events}
	err := r.array(func() error {
		value, begin, err := r.value()
		if err != nil {
			return err
		}
		record++
		begin += s.begin
		var e kinetoEvent
		if err := json.Unmarshal(value, &e); err != nil {
			return &Error{File: s.file.Name, Record: record, Byte: begin,
				Problem: "is no event: " + strings.TrimPrefix(err.Error(), "json: "),
				Want:    `an event such as {"ph": "X", "ts": 1.5, "dur": 2.25}`}
		}
		if e.Phase != "X" {
			return nil
		}
		rank := defaultRank
		if e.Rank != nil {
			rank = *e.Rank
		}
		if rank < 0 || rank >= MaxRanks {
			return &Error{File: s.file.Name, Record: record, Byte: begin,
				Problem: fmt.Sprintf("rank %d", rank), Want: fmt.Sprintf("a rank from 0 to %d", MaxRanks-1)}
		}
		if _, ok := intern[e.Name]; !ok {
			intern[e.Name] = e.Name
		}
		place := kinetoPlace{file: s.file, record: record, offset: begin, name: intern[e.Name]}
		owner := k.ranks[rank]
		if owner == nil {
			owner = &kinetoRank{section: s, launches: map[int64]int64{}}
			k.ranks[rank] = owner
		} else if owner.section != s {
			return &Error{File: s.file.Name, Problem: fmt.Sprintf("holds rank %d, and so does %s", rank,
				owner.section.file.Name), Want: "one trace per rank"}
		}
		return k.addEvent(owner, &e, place)
	})
	if fault := (jsonSyntaxError{}); errors.As(err, &fault) {
		return jsonError(*s.file, s.begin, err, kinetoContent, kinetoWhole)
	}
	return err
}

// addEvent adds an event to a rank if its category is read.
func (k *kinetoReader) addEvent(to *kinetoRank, e *kinetoEvent, place kinetoPlace) error {
	category := strings.ToLower(e.Category)
	isWork := slices.Contains([]string{"kernel", "gpu_memcpy", "gpu_memset"}, category)
	isRecord := strings.Contains(e.Name, "record_param_comms")
	switch {
	case isWork || isRecord || category == "cuda_sync":
	case category == "cuda_runtime" || category == "cuda_driver":
	default:
		return nil
	}

	// Bound the memory.
	if k.operations++; k.operations > MaxOperations {
		return countOperations(place.file.Name, k.operations)
	}
	var a kinetoArgs
	if len(e.Args) > 0 {
		if err := json.Unmarshal(e.Args, &a); err != nil {
			return place.errorAt("arguments as PyTorch's profiler writes them", "has args that cannot be read: %s",
				strings.TrimPrefix(err.Error(), "json: "))
		}
	}
	start, err := nanoseconds("ts", e.Start)
	if err != nil {
		return place.located(err)
	}
	correlation, err := kinetoInteger("correlation", a.Correlation)
	if err != nil {
		return place.located(err)
	}
	externalID, err := kinetoInteger("External id", a.ExternalID)
	if err != nil {
		return place.located(err)
	}

	switch {
	case isRecord:
		c := &kinetoCall{kinetoPlace: place, kinetoArgs: a, time: start, externalID: externalID}
		switch kinetoName(a.Collective) {
		case "wait":
			to.waits = append(to.waits, c)
		case "", "init":
		default:
			to.records = append(to.records, c)
		}

	case isWork:
		duration, err := nanoseconds("dur", cmp.Or(e.Duration, "0"))
		if err == nil && (duration < 0 || duration > int64(maxComputeTime)/1000) {
			err = invalid(fmt.Sprintf("at most %.0f s", maxComputeTime.Seconds()), "dur is %.40q", e.Duration)
		}
		stream, streamErr := kinetoInteger("stream", a.Stream)
		if err = cmp.Or(err, streamErr); err != nil {
			return place.located(err)
		}
		w := kinetoWork{kinetoPlace: place, start: start, end: start + duration, launch: start,
			stream: stream, correlation: correlation, externalID: externalID}
		w.isNCCL = category == "kernel" && (a.Collective != "" ||
			strings.HasPrefix(strings.ToLower(e.Name), "nccl"))
		if w.isNCCL && a.Collective != "" {
			w.calls = []*kinetoCall{{kinetoPlace: place, kinetoArgs: a, time: start, externalID: externalID}}
		}
		to.work = append(to.work, w)

	case category == "cuda_sync":
		var s kinetoSync
		s.correlation = correlation
		for _, n := range []struct {
			name string
			text json.Number
			to   *int64
		}{{"stream", a.Stream, &s.stream}, {"wait_on_stream", a.WaitStream, &s.waitStream},
			{"wait_on_cuda_event_record_corr_id", a.WaitCorrelation, &s.waitCorrelation}} {
			if *n.to, err = kinetoInteger(n.name, n.text); err != nil {
				return place.located(err)
			}
		}
		if a.WaitStream != "" && a.WaitCorrelation != "" && s.waitStream >= 0 && s.waitCorrelation >= 0 &&
			strings.Contains(e.Name, "Stream Wait Event") {
			to.syncs = append(to.syncs, s)
		}

	default:
		if a.Correlation != "" {
			to.launches[correlation] = start
		}
	}
	return nil
}

// located adds the place to a problemError.
func (p *kinetoPlace) located(err error) error {
	if e := (problemError{}); errors.As(err, &e) {
		return p.errorAt(e.want, "is wrong: %s", e.problem)
	}
	return err
}

// kinetoName returns the name of a collective without differences of versions: in lower case
// and without underscores.
func kinetoName(collective string) string {
	return strings.ReplaceAll(strings.ToLower(collective), "_", "")
}

// kinetoInteger parses an integer argument; 0 if it is missing.
func kinetoInteger(what string, text json.Number) (int64, error) {
	if text == "" {
		return 0, nil
	}
	return parseWhole(what, string(text), math.MinInt64, math.MaxInt64)
}

// nanoseconds converts a number of microseconds to nanoseconds. Numbers with a decimal point are
// exact.
func nanoseconds(what string, text json.Number) (int64, error) {
	const maxNanoseconds = 1 << 62
	whole, fraction, _ := strings.Cut(string(text), ".")
	fraction = (fraction + "000")[:3]
	n, err := strconv.ParseInt(whole+fraction, 10, 64)
	if err != nil { // an exponent
		var f float64
		f, err = strconv.ParseFloat(string(text), 64)
		if n = int64(f * 1000); math.Abs(f*1000) > maxNanoseconds {
			err = strconv.ErrRange
		}
	}
	if err != nil || n < -maxNanoseconds || n > maxNanoseconds {
		return 0, invalid("a number of microseconds", "%s is %.40q", what, text)
	}
	return n, nil
}

// checkRanks sets the number of ranks. It fails if the trace of a rank is missing.
func (k *kinetoReader) checkRanks(sections []kinetoSection) error {
	first := sections[0].file.Name
	for rank := range k.ranks {
		k.Ranks = max(k.Ranks, rank+1)
	}
	for i := range sections {
		k.Ranks = max(k.Ranks, sections[i].info.WorldSize)
	}
	if k.Ranks > MaxRanks {
		return &Error{File: first, Problem: fmt.Sprintf("%d ranks", k.Ranks),
			Want: fmt.Sprintf("at most %d", MaxRanks)}
	}

	if k.Ranks == 0 {
		return &Error{File: first, Problem: "holds no work of a GPU", Want: "a profile of CUDA activities"}
	}

	var missing []string
	for rank := 0; rank < k.Ranks; rank++ {
		end := rank
		for end < k.Ranks && k.ranks[end] == nil {
			end++
		}
		switch {
		case end == rank:
			continue
		case end == rank+1:
			missing = append(missing, fmt.Sprint(rank))
		default:
			missing = append(missing, fmt.Sprintf("%d to %d", rank, end-1))
		}
		rank = end
	}
	const maxListed = 8
	if len(missing) > maxListed {
		missing = append(missing[:maxListed], "...")
	}
	if len(missing) > 0 {
		return &Error{File: first, Problem: fmt.Sprintf("of %d ranks, these have no trace: %s",
			k.Ranks, strings.Join(missing, ", ")), Want: "the trace of every rank"}
	}
	return nil
}
