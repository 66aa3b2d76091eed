package cli

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

var fleetCases = []correctedCase{
	{
		name:   "easy",
		args:   []string{"run", "@/easy.toml"},
		before: "job 3 starts at 2000 s",
		right:  "job 3 starts at 3 s, job 4 at 4 s: neither delays job 1",
		check: func(o caseOutcome) (string, error) {
			starts := map[string]string{}
			err := forEachRecord(o, "jobs-reconfigurable.csv", func(r map[string]string) { starts[r["job"]] = r["placed_s"] })
			want := map[string]string{"0": "0.000", "1": "1000.000", "2": "2000.000", "3": "3.000", "4": "4.000"}
			for job, at := range want {
				if starts[job] != at {
					err = errors.Join(err, fmt.Errorf("job %s starts at %s s, want %s", job, starts[job], at))
				}
			}
			return fmt.Sprint("starts ", starts), err
		},
	},
	ongoingRepairCase(1, "0.006"), ongoingRepairCase(10, "0.051"), ongoingRepairCase(100, "0.481"),
	{
		name:   "fault-log-bias",
		args:   []string{"run", "@/fleet-fault-log-bias.toml"},
		before: "share_down 0.0584: servers that failed were copied more often",
		right:  "share_down 0.0500: half of the servers are down for a tenth of the time",
		check:  checkMetricNear("share_down", "reconfigurable", (200.*10+1)/(400*100), 1e-3),
	},
	{
		name:   "failure-during-drain",
		args:   []string{"run", "@/fleet-failure-during-drain.toml"},
		before: "11 jobs leave with a checkpoint although a machine fails while they write it",
		right:  "none does",
		check:  checkDrains,
	},
	{
		name:   "llama3",
		args:   []string{"run", "@/llama3.toml"},
		before: "efficiency 0.83",
		right:  "above 0.90, as published for 419 interruptions in 54 days",
		check: func(o caseOutcome) (string, error) {
			now, err := checkMetricNear("interrupts", "reconfigurable", 419, 0.15)(o)
			also, err2 := checkMetricNear("efficiency", "reconfigurable", 0.925, 0.025/0.925)(o)
			return now + ", " + also, errors.Join(err, err2)
		},
	},
}

// ongoingRepairCase is the case of a fault log of 100 days with one fault from day 10 to day
// 90 and another during the last 0.1 days. Machines read the log from evenly spaced start
// times, so that 0.801 of them are down on average at any time.
func ongoingRepairCase(days int, before string) correctedCase {
	return correctedCase{
		name:   fmt.Sprintf("fault-log-ongoing-%d", days),
		args:   []string{"run", "@/fleet-fault-log-ongoing.toml", "--set", fmt.Sprintf("workload.days=%d", days)},
		before: "share_down " + before,
		right:  "0.801: an outage that began before the window counts",
		check:  checkMetricNear("share_down", "reconfigurable", 0.801, 1e-3),
	}
}

// checkMetricNear returns a check that a metric has a value within a relative error.
func checkMetricNear(metric, policy string, want, within float64) func(caseOutcome) (string, error) {
	return func(o caseOutcome) (string, error) {
		if o.code != exitOK {
			return o.stderr, fmt.Errorf("exit code %d, want 0", o.code)
		}
		for _, row := range o.document.Rows {
			if row.Policy != policy {
				continue
			}
			got := row.Metrics[metric]
			now := fmt.Sprintf("%s %.4g", metric, got)
			if !(math.Abs(got-want) <= within*want) {
				return now, fmt.Errorf("%s of %s is %g, want %g within %g of it", metric, policy, got, want, within)
			}
			return now, nil
		}
		return "", fmt.Errorf("no row of %s", policy)
	}
}

// forEachRecord calls do for each row of a CSV file of a run. A row is indexed by column name.
func forEachRecord(o caseOutcome, file string, do func(map[string]string)) error {
	if o.code != exitOK {
		return fmt.Errorf("exit code %d, want 0: %s", o.code, o.stderr)
	}
	f, err := os.Open(filepath.Join(o.dir, file))
	if err != nil {
		return err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return err
	}
	for _, r := range rows[1:] {
		record := map[string]string{}
		for i, name := range rows[0] {
			record[name] = r[i]
		}
		do(record)
	}
	return nil
}

// checkDrains checks that no job leaves with a checkpoint if a machine of its cubes fails
// during the two minutes in which the checkpoint is written. All jobs use whole cubes and
// therefore all machines of these.
func checkDrains(o caseOutcome) (string, error) {
	leaves, lost, interrupted := 0, 0, 0
	var errs []error
	for _, policy := range []string{"reconfigurable", "static-first-fit", "folding"} {
		failures := map[string][]float64{} // failure times, indexed by cube
		err := forEachRecord(o, "events-"+policy+".csv", func(r map[string]string) {
			if r["part"] == "machine" && r["event"] == "down" {
				number, err := strconv.Atoi(r["number"])
				at, err2 := strconv.ParseFloat(r["at_s"], 64)
				cube := strconv.Itoa(number / 16)
				failures[cube] = append(failures[cube], at)
				errs = append(errs, err, err2)
			}
		})
		errs = append(errs, err)
		err = forEachRecord(o, "jobs-"+policy+".csv", func(r map[string]string) {
			chips, err := strconv.Atoi(r["chips"])
			left, err2 := strconv.ParseFloat(r["left_s"], 64)
			errs = append(errs, err, err2)
			if chips < 64 {
				return
			}
			switch r["end"] {
			case "interrupted":
				interrupted++
			case "evicted":
				leaves++
				if r["run_s"] != "" && slices.ContainsFunc(strings.Fields(r["cubes"]), func(cube string) bool {
					return slices.ContainsFunc(failures[cube], func(at float64) bool { return at >= left-120 && at < left })
				}) {
					lost++
				}
			}
		})
		errs = append(errs, err)
	}
	if lost > 0 {
		errs = append(errs, fmt.Errorf("%d of %d checkpoints are kept although a machine fails while they are written", lost, leaves))
	}
	if leaves < 500 || interrupted < 100 {
		errs = append(errs, fmt.Errorf("only %d jobs are evicted and %d interrupted", leaves, interrupted))
	}
	return fmt.Sprintf("%d of %d jobs keep a checkpoint that a failure destroys", lost, leaves), errors.Join(errs...)
}
