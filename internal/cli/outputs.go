// This file opens and writes the files that the flags of sim run request.

package cli

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"sim/internal/csvfield"
	"sim/internal/text"
	"sim/scenarios"
	"sim/scenarios/result"
	"sim/workloads/trace"
)

// checkOutputs returns an error if the flags request an output that a run of s does not
// produce.
func checkOutputs(s *scenarios.Scenario, flags runFlags) error {
	plan, err := s.NoPlanReason()
	if err != nil {
		return err
	}
	// lacks has the reasons why an output is not produced. Files of simulated tasks share one
	// reason.
	lacks := map[string]string{"--trace": s.NoTraceReason(), "--plan-out": plan, "--routes-out": s.NoRoutesReason()}
	for _, o := range append(flags.outputFlags(), outputFlag{name: "--routes-out", path: flags.routesOut}) {
		why, other := lacks[o.name]
		if !other {
			why = s.NoWorkReason()
		}
		if o.path != "" && why != "" {
			return usagef("%s: %s: %s", o.name, s.Name, why)
		}
	}
	return nil
}

// outputs holds the output files that the flags of a run request. They are all opened before
// the run starts, and written before the run directory gets its final name, because they may
// be in it.
type outputs struct {
	trace, plan *outputFile // nil if not requested
	// routes has the forwarding tables, indexed by router.
	routes map[string]routeFiles
	// createdDirs are the directories created for routes, which abort removes.
	createdDirs result.CreatedDirs
	window      result.Window // part of simulated time in the trace
	// workloads are the files with the simulated tasks.
	workloads []workloadFile
	// rankTraces has the simulated tasks, for the Chakra files of ranks 1 and up.
	rankTraces *trace.Job
	create     func(path string) (*outputFile, error) // opens a further output file
}

// routeFiles holds the forwarding tables of a router and its tags of source-destination pairs.
type routeFiles struct{ tables, tags *outputFile }

// open opens the outputs of the run of s in directory dir. s was read from file with the
// overrides. If open fails, the caller must call abort.
func (o *outputs) open(s *scenarios.Scenario, file string, overrides []string, dir *result.Dir, flags runFlags) error {
	if len(flags.outputFlags()) == 0 && flags.routesOut == "" {
		return nil
	}
	// taken has the paths of all outputs so far.
	read, taken := scenarios.InputFiles(file, overrides), map[string]bool{}
	// place returns the path at which an output must be created now. It differs from its final
	// path inside the run directory.
	place := func(path string) (string, error) {
		place, err := dir.OutputPath(path)
		if err == nil && taken[place] {
			err = &result.PlaceError{Path: path, Why: "is asked for twice; give each output its own place"}
		}
		taken[place] = true
		return place, err
	}
	// create opens an output file at its place.
	create := func(path string) (*outputFile, error) {
		finalPath, err := place(path)

		// In the run directory, which is new, a file may need a directory.
		if err == nil && finalPath != path {
			err = os.MkdirAll(filepath.Dir(finalPath), 0o777)
		}
		if err != nil {
			return nil, err
		}
		return createOutputFile(path, finalPath, read)
	}
	o.create = create

	// Open the files of single flags.
	for _, w := range flags.outputFlags() {
		f, err := create(w.path)
		if err != nil {
			return err
		}
		// Timelines and plans have their own fields; all other files have the simulated tasks.
		switch w.name {
		case "--trace":
			o.trace, o.window = f, flags.timeline.Window
		case "--plan-out":
			o.plan = f
		default:
			o.workloads = append(o.workloads, workloadFile{flag: w.name, file: f})
		}
	}

	// Open two files of forwarding tables per router.
	if flags.routesOut == "" {
		return nil
	}
	routesDir, err := place(flags.routesOut)
	if err != nil {
		return err
	}
	if o.createdDirs, err = result.CreateDirs(routesDir); err != nil {
		return result.Unwritable(flags.routesOut, err)
	}
	o.routes = map[string]routeFiles{}
	for _, router := range s.PolicyNames() {
		var f routeFiles
		f.tables, err = create(filepath.Join(flags.routesOut, router+"-tables.csv"))
		if err == nil {
			f.tags, err = create(filepath.Join(flags.routesOut, router+"-tags.csv"))
		}
		o.routes[router] = f
		if err != nil {
			return err
		}
	}
	return nil
}

// abort removes all files that are not committed, and the directories created for them.
func (o *outputs) abort() {
	o.trace.abort()
	o.plan.abort()
	for _, f := range o.workloads {
		f.file.abort()
	}
	for _, f := range o.routes {
		f.tables.abort()
		f.tags.abort()
	}
	o.createdDirs.Remove()
}

// write writes all requested files with the outcome of the run. If one fails, the others are
// still written, and the errors are returned together.
func (o *outputs) write(c *command, out *scenarios.Outcome) error {
	failed := o.commitWorkloads()
	// write writes a file if it is requested, and collects its error.
	write := func(f *outputFile, fill func(io.Writer) error) {
		if f != nil {
			if err := f.write(fill); err != nil {
				failed = append(failed, err)
			}
		}
	}
	// Write the timelines, with a message about omitted tasks and about a window after the end.
	name := out.Document.Scenario
	for i := range out.Detail.Policies {
		p := &out.Detail.Policies[i]
		if o.trace == nil {
			continue
		}
		if p.Timeline != nil && p.Timeline.Omitted != "" {
			c.logf("%s: %s leaves out: %s", name, o.trace.path, p.Timeline.Omitted)
		}
		if p.MakespanS > 0 && float64(o.window.From) > p.MakespanS*1e12 {
			c.logf("%s: %s ends at %.4g s, before --trace-window", name, p.Policy, p.MakespanS)
		}
	}
	write(o.trace, func(w io.Writer) error {
		spans, err := result.WriteTrace(w, &out.Document, &out.Detail, o.window)
		if err == nil && spans == 0 && o.window != (result.Window{}) {
			c.logf("%s: nothing runs from %s, so %s has no spans", name, o.window, o.trace.path)
		}
		return err
	})

	// Explain an empty file of plans.
	if o.plan != nil && len(out.RateSchedules)+len(out.PlannerPlans) == 0 {
		if out.UsesPlanners {
			c.logf("no planner of %s produced a plan, so %s has none: fluid schedules have no plan", name, o.plan.path)
		} else {
			c.logf("no policy of %s scheduled rates, so %s has no rows", name, o.plan.path)
		}
	}
	write(o.plan, func(w io.Writer) error {
		if out.UsesPlanners {
			return out.WritePlans(w)
		}
		return writePlans(w, &out.Document, out.RateSchedules)
	})

	// Compile the forwarding tables of each router.
	for i := range out.Routes {
		// Compiling can fail if the tables would be too large.
		if f, ok := o.routes[out.Routes[i].Policy]; ok {
			files, err := out.Routes[i].Compile()
			if err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", name, err))
				continue
			}
			write(f.tables, files.Tables)
			if files.Tags != nil {
				write(f.tags, files.Tags)
			}
		}
	}

	// Remove the files of routers without routes.
	o.abort()
	return joinErrors(failed...)
}

// checkOutputDirs returns a *result.PlaceError if a directory in dirs cannot be written, or is
// inside the run directory. Policies write to these directories during the run. run may be nil.
// No directory is created.
func checkOutputDirs(dirs scenarios.OutputDirs, run *result.Dir) error {
	for _, d := range []string{dirs.Models, dirs.Routes} {
		switch {
		case d == "":
			continue
		case run != nil && run.Contains(d):
			return &result.PlaceError{Path: d, Why: "is inside the run's own directory, which is created when the run ends; choose another directory"}
		}
		if err := result.Probe(d); err != nil {
			return result.Unwritable(d, err)
		}
	}
	return nil
}

// writePlans writes rate schedules as CSV with the columns task, from_s, to_s and
// rate_bits_per_s. If several policies have schedules, policy is the first column, and the
// policies are in the order of the rows of doc.
func writePlans(w io.Writer, doc *result.Document, plans map[string][]scenarios.RateRow) error {
	out := csv.NewWriter(w)

	// policy is the first column; empty with one schedule.
	var policy []string
	if len(plans) > 1 {
		policy = []string{"policy"}
	}
	out.Write(append(policy, "task", "from_s", "to_s", "rate_bits_per_s"))
	for _, r := range doc.Rows {
		if len(plans) > 1 {
			policy = []string{r.Policy}
		}
		for _, p := range plans[r.Policy] {
			out.Write(csvfield.Safe(append(slices.Clip(policy), p.Task, text.Exact(p.FromS), text.Exact(p.ToS), text.Exact(p.Rate))...))
		}
	}
	out.Flush()
	return out.Error()
}
