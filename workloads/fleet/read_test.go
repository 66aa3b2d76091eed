package fleet

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/fabric/torus"
)

func testDemand() *Demand {
	return &Demand{Pod: *torus.TPUv4Pod(), Seed: 1, Mix: Mixes()["tpuv4-2022"], PerDay: 1, Until: Day, Chips: 4096, Load: 1, Bands: [NumBands]float64{2, 5, 3}, FaultRoutingShare: 0.9, EstimateFactor: 1}
}

const (
	helios = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
	philly = `[{"status":"Pass","vc":"a","jobid":"1","submitted_time":"2017-10-09 07:01:56","user":"b","attempts":[
{"start_time":"2017-10-09 07:02:00","end_time":"2017-10-09 07:03:00","detail":[{"ip":"m1","gpus":["gpu0","gpu1"]},{"ip":"m2","gpus":["gpu0","gpu1"]}]},
{"start_time":"2017-10-09 08:00:00","end_time":null,"detail":[]}]},
{"submitted_time":"2017-10-09 06:01:56","attempts":[{"start_time":"2017-10-09 06:02:00","end_time":"2017-10-09 06:04:00","detail":[{"ip":"m1","gpus":["gpu0"]}]}]},
{"submitted_time":"None","attempts":[{"start_time":"None","end_time":"2017-10-09 06:04:00","detail":[{"ip":"m1","gpus":["gpu0"]}]}]},
{"submitted_time":"2017-10-09 07:01:57","attempts":[]}]`
	swf = "; a comment\n1 10 5 60 8 -1 -1 16 100 -1 1 1 1 1 1 -1 -1 -1\n2 20 5 -1 8 -1 -1 16 100 -1 0 1 1 1 1 -1 -1 -1\n3 20 5 7 64 -1 -1 -1 -1 -1 1 1 1 1 1 -1 -1 -1\n"
)

// TestReadJobs checks the jobs and the counts of left-out jobs for each log format.
func TestReadJobs(t *testing.T) {
	for _, tt := range []struct{ format, text, want, words string }{
		{"rfold", "# id\n0,1.5,T3D_T,4x4x8,128,60\n1,2,CLOS,48,48,0\n", "1.5s 4x4x8T 1m0s 1m0s; 2s 4x4x4 1ms 1ms", ""},
		{"helios", helios + "a,u,v,8,1,1,COMPLETED,2020-04-01 00:00:10,2020-04-01 00:00:20,2020-04-01 00:01:20,60,10\n" +
			"b,u,v,0,1,1,COMPLETED,2020-04-01 00:00:10,2020-04-01 00:00:20,2020-04-01 00:01:20,60,10\n" +
			"c,u,v,2,1,1,CANCELLED,2020-04-01 00:00:05,,,,\n" +
			"d,u,v,1.0,1,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:00:20,2020-04-01 00:00:50,,\n",
			"0s 1x1x1 30s 30s; 10s 2x2x2 1m0s 1m0s", "1 without times left out, 1 without accelerators left out"},
		{"helios", "gpu_num,type,submit_time,start_time,end_time,gpu_time\n64,x,2023-03-01 00:18:22+08:00,2023-03-01 00:18:54+08:00,2023-03-01 00:20:51+08:00,1\n", "0s 4x4x4 1m57s 1m57s", ""},
		{"philly", strings.Replace(philly, `[{"ip":"m1","gpus":["gpu0"]}]}]},`, `[]}]},`, 1), "0s 1x2x2 1m0s 1m0s", "2 without times left out, 1 with times of some attempts alone, 1 without accelerators left out"},
		{"philly", philly, "0s 1x1x1 2m0s 2m0s; 1h0m0s 1x2x2 1m0s 1m0s", "2 without times left out, 1 with times of some attempts alone"},
		{"swf", swf, "10s 2x2x4 1m0s 1m40s; 20s 4x4x4 7s 7s", "1 without times left out"},
		{"swf", "1 0 0 0 8 -1 -1 16 0 -1 1 1 1 1 1 -1 -1 -1\n2 0 5 3 8 -1 -1 0 2 -1 1 1 1 1 1 -1 -1 -1\n3 -1 5 3 8 -1 -1 0 2 -1 1 1 1 1 1 -1 -1 -1\n4 0 5 3 0 -1 -1 -1 2 -1 1 1 1 1 1 -1 -1 -1\n",
			"0s 2x2x4 1ms 1ms; 0s 2x2x2 3s 2s", "1 without times left out, 1 without accelerators left out"},
	} {
		log, err := testDemand().ReadJobs(tt.format, "log", []byte(tt.text))
		if err != nil {
			t.Errorf("%s: %v", tt.format, err)
			continue
		}
		var got []string
		for i, j := range log.Jobs {
			if j.Number != i {
				t.Errorf("%s: job %d has number %d", tt.format, i, j.Number)
			}
			got = append(got, fmt.Sprint(j.Submit, " ", j.Shape, " ", j.Work, " ", j.Estimate))
		}
		if g := strings.Join(got, "; "); g != tt.want || log.Words() != tt.words {
			t.Errorf("%s: %s (%s), want %s (%s)", tt.format, g, log.Words(), tt.want, tt.words)
		}
	}
}

// TestReadJobsWrong checks that invalid logs are rejected with the line.
func TestReadJobsWrong(t *testing.T) {
	row := "a,u,v,8,1,1,COMPLETED,2020-04-01 00:00:10,2020-04-01 00:00:20,2020-04-01 00:01:20,60,10\n"
	for _, tt := range []struct{ format, text, want string }{
		{"table", "", "unknown log format \"table\""},
		{"rfold", "", "log: holds no job"},
		{"rfold", "0,x,CLOS,48,48,60\n", "log:1: the submission or the duration is not a number"},
		{"rfold", "0,1,CLOS,48,48,x\n", "log:1: the submission or the duration is not a number"},
		{"philly", strings.Replace(philly, "2017-10-09 07:01:56", "soon", 1), "log:3: holds an invalid date"},
		{"philly", strings.Replace(philly, "2017-10-09 07:02:00", "soon", 1), "log:3: holds an invalid date"},
		{"philly", strings.Replace(philly, "2017-10-09 07:03:00", "soon", 1), "log:3: holds an invalid date"},
		{"philly", strings.Replace(philly, `["gpu0"]}]}]},`, `["`+strings.Repeat(`gpu","`, 5000)+`gpu"]}]}]},`, 1), "log:4: 5001 accelerators are more than any slice"},
		{"rfold", "0,1,CLOS,48,48,60\n1,0.5,CLOS,48,48,60\n", "log:2: submitted at 0.5 s, before the job above it"},
		{"rfold", "0,1,CLOS,48,48,60\n1,2,CLOS,48\n", "log:2: has 4 fields; want 6"},
		{"rfold", "0,1,CLOS,48,48,60\n1,2,CLOS,48,48,\"60\n", "log:2: extraneous or missing"},
		{"rfold", "0,1,CLOS,5000,48,60\n", "log:1: 5000 accelerators are more than any slice"},
		{"rfold", "0,1,T3D,4x4x5,48,60\n", "log:1: the slice is invalid"},
		{"rfold", "0,1,CLOS,0,48,60\n", "log:1: holds an invalid number of accelerators"},
		{"rfold", "0,NaN,CLOS,4,4,60\n", "log:1: submitted at NaN s for 60 s"},
		{"helios", "job_id,gpus\n1,2\n", "log:1: names no column gpu_num"},
		{"helios", helios + row + strings.Replace(row, "00:01:20", "00:00:19", 1), "log:3: times go backwards"},
		{"helios", helios + row + row[:40] + "\n", "log:3: has 8 fields; want 12"},
		{"helios", helios + strings.Replace(row, ",60,", ",-1,", 1), "log:2: the duration is not a number"},
		{"helios", helios + strings.Replace(row, "2020-04-01 00:00:20", "yesterday", 1), "log:2: holds an invalid date"},
		{"helios", helios + strings.Replace(row, "2020-04-01 00:01:20", "yesterday", 1), "log:2: holds an invalid date"},
		{"helios", helios + strings.Replace(row, ",8,", ",1.5,", 1), "log:2: holds an invalid number"},
		{"helios", helios + strings.Replace(row, "2020-04-01 00:00:10", "yesterday", 1), "log:2: holds an invalid date"},
		{"helios", helios + "c,u,v,2,1,1,CANCELLED,2020-04-01 00:00:05,,,,\n", "holds no job that could be simulated: 1 without times left out"},
		{"philly", "{}", "log:1: is not a JSON list"},
		{"philly", philly[:400], "log:4: is cut off in the middle of an entry"},
		{"philly", philly[:len(philly)-1], "log:6: is cut off: the list does not end"},
		{"philly", strings.Replace(philly, `"None","attempts"`, `"None";"attempts"`, 1), "log:5: is not valid JSON here"},
		{"philly", strings.Replace(philly, "06:04:00", "06:01:00", 1), "log:4: times go backwards"},
		{"philly", strings.Replace(philly, `"user":"b"`, `"submitted_time":3`, 1), "log:3: ends an entry whose fields have other types"},
		{"swf", swf + "4 30 5\n", "log:5: has 3 fields; want 18"},
		{"swf", swf + "4 19 5 60 8 -1 -1 16 100 -1 1 1 1 1 1 -1 -1 -1\n", "log:5: submitted at 19 s, before the job above it"},
		{"swf", "1 x 5 60 8 -1 -1 16 100 -1 1 1 1 1 1 -1 -1 -1\n", "log:1: field 2 is not a number"},
	} {
		if _, err := testDemand().ReadJobs(tt.format, "log", []byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s of %.60q: %v, want %s", tt.format, tt.text, err, tt.want)
		}
	}
}

// TestSampleLogs reads published logs.
func TestSampleLogs(t *testing.T) {
	data := readSample(t, "rfold/crux.csv")
	log, err := testDemand().ReadJobs("rfold", "crux.csv", data)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Count(strings.TrimSpace(string(data)), "\n"); len(log.Jobs) != want {
		t.Errorf("%d jobs of %d lines", len(log.Jobs), want)
	}
	faults, err := ReadFaults("fault_trace.json", readSample(t, "infinitehbd/fault_trace.json"), 400)
	if err != nil {
		t.Fatal(err)
	}
	p, failed, n := faults.Process(), 0, 0
	for _, s := range faults.Servers {
		if n += len(s); len(s) > 0 {
			failed++
		}
	}
	if failed != 231 || n > 584 || n < 550 || faults.NumOpen != 0 {
		t.Errorf("%d servers failed %d times, %d unended; want 231, 584 and none", failed, n, faults.NumOpen)
	}
	checkNear(t, "share of servers down", p.Unavailability(), 0.023, 0.001)
	checkNear(t, "faults of a server and day", p.PerDay, 4.18e-3, 2e-4)
}

// readSample reads a file of the samples, which are not part of the repository.
func readSample(t *testing.T, name string) []byte {
	for _, dir := range []string{"../../../shared/samples", "../../../../shared/samples"} {
		if data, err := os.ReadFile(dir + "/" + name); err == nil {
			return data
		}
	}
	t.Skip("no " + name)
	return nil
}

func faultEntry(node string, day float64, kind string) string {
	return fmt.Sprintf(`{"node_id": "%s", "event_time": %g, "event_type": "fault_%s"}`, node, day, kind)
}

// TestReadFaults checks that overlapping faults are one outage, and that invalid logs are
// rejected with the line.
func TestReadFaults(t *testing.T) {
	list := func(events ...string) string { return "[\n" + strings.Join(events, ",\n") + "\n]" }
	text := list(faultEntry("c", 0.5, "end"), faultEntry("a", 1, "start"), faultEntry("a", 2, "start"), faultEntry("a", 3, "end"), faultEntry("b", 3.5, "start"), faultEntry("a", 4, "end"), faultEntry("a", 9, "start"), faultEntry("a", 10, "end"))
	f, err := ReadFaults("log", []byte(text), 4)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]Outage{{{0, Day / 2}}, {{Day, 3 * Day}, {9 * Day, Day}}, {{7 * Day / 2, 13 * Day / 2}}, nil}
	if fmt.Sprint(f.Servers) != fmt.Sprint(want) || f.Span != 10*Day || f.NumOpen != 1 {
		t.Errorf("%v over %v, %d unended; want %v", f.Servers, f.Span, f.NumOpen, want)
	}
	for _, tt := range []struct{ text, want string }{
		{"[]", "log:1: holds no fault"},
		{list(faultEntry("a", 2, "start"), faultEntry("b", 1, "start")), "log:3: ends an entry at day 1, before the one above it"},
		{list(faultEntry("a", 2, "start"), faultEntry("b", 3, "begin")), "log:3: ends an entry of another type"},
		{list(faultEntry("a", 2, "start"), faultEntry("a", 3, "end"), faultEntry("a", 4, "end")), "log:4: ends an entry of a fault that ends and has not begun"},
		{list(faultEntry("a", 2, "start"), `{"node_id": "b"}`), "log:3: ends an entry without"},
		{list(faultEntry("a", 2, "start"), faultEntry("b", 3, "start"), faultEntry("c", 3, "start")), "log:4: ends an entry of one server more than 2"},
		{list(faultEntry("a", 2, "start"), faultEntry("b", 3, "start"))[:100], "log:3: is cut off in the middle"},
	} {
		if _, err := ReadFaults("log", []byte(tt.text), 2); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.60q: %v, want %s", tt.text, err, tt.want)
		}
	}
}

// TestHistory checks that a machine is down exactly when its server is down in the log,
// read cyclically from the machine's offset. Servers have equal numbers of machines, up
// to one, with evenly spaced offsets, in every pod.
func TestHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &FaultLog{Span: 100 * Day, Servers: make([][]Outage, rapid.IntRange(1, 12).Draw(t, "servers"))}
		for s := range f.Servers {
			at := Time(rapid.SampledFrom([]int64{-1, 0}).Draw(t, "down from the beginning"))
			for range rapid.IntRange(0, 5).Draw(t, "outages") {
				o := Outage{at + Time(rapid.Int64Range(1, int64(10*Day)).Draw(t, "up")), Time(rapid.Int64Range(1, int64(9*Day)).Draw(t, "down"))}
				f.Servers[s] = append(f.Servers[s], o)
				at = o.Start + o.Duration
			}
		}
		n := rapid.IntRange(1, 40).Draw(t, "machines")
		p := f.Process()
		copies, moments := make([]int, len(f.Servers)), map[[2]Time]bool{}
		for i := range n {
			x := NewFailures(&p, 1, PartID{Machine, 0, i}, 1, 1024)
			x.log = f.history(i, n)
			server := slices.IndexFunc(f.Servers, func(s []Outage) bool { return len(s) > 0 && len(x.log.outages) > 0 && &s[0] == &x.log.outages[0] })
			if server < 0 {
				continue // a server without outages, which cannot be identified
			}
			copies[server]++
			from := -x.log.base
			if moment := [2]Time{Time(server), from}; moments[moment] {
				t.Fatalf("two machines read server %d from day %g on", server, from.Days())
			} else {
				moments[moment] = true
			}
			// Time from the start of the log to each edge of an outage, over two and a
			// half passes.
			var want []Outage
			until := 5 * f.Span / 2
			for pass := range Time(4) {
				for _, o := range f.Servers[server] {
					begin, end := max(0, o.Start+pass*f.Span-from), min(until, o.Start+o.Duration+pass*f.Span-from)
					if begin < end {
						want = append(want, Outage{begin, end - begin})
					}
				}
			}
			var got []Outage
			for now := Time(0); ; {
				after, lasts, _ := x.Next(now)
				if now += after; now >= until {
					break
				}
				got = append(got, Outage{now, min(lasts, until-now)})
				now += lasts
			}
			if !slices.Equal(got, want) {
				t.Fatalf("machine %d of server %d is down %v, want %v", i, server, got, want)
			}
		}
		for s, c := range copies {
			if lo := n / len(f.Servers); len(f.Servers[s]) > 0 && c != lo && c != (n+len(f.Servers)-1)/len(f.Servers) {
				t.Fatalf("%d machines of %d read server %d of %d", c, n, s, len(f.Servers))
			}
		}
	})
	for _, pods := range []int{1, 3} {
		f := &FaultLog{Span: 100 * Day, Servers: make([][]Outage, 400)}
		for s := range 231 { // servers with failures come first
			f.Servers[s] = []Outage{{Day, Day}}
		}
		for pod := range pods {
			failed := 0
			for i := range 1024 {
				if len(f.history(pod*1024+i, pods*1024).outages) > 0 {
					failed++
				}
			}
			if want := 1024. * 231 / 400; math.Abs(float64(failed)-want) > 3 {
				t.Errorf("%d machines of pod %d of %d fail, want %g", failed, pod, pods, want)
			}
		}
	}
}
