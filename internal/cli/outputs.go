package cli

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"sim/internal/csvfield"
	"sim/internal/text"
	"sim/scenarios"
	"sim/scenarios/result"
	"sim/workloads/trace"
)

// checkOutputs fails where a run of s has nothing of what the flags ask for.
func checkOutputs(s *scenarios.Scenario, flags runFlags) error {
	plan, err := s.NoPlan()
	if err != nil {
		return err
	}
	lacks := map[string]string{"--trace": s.NoTrace(), "--plan-out": plan, "--routes-out": s.NoRoutes()}
	for _, o := range append(flags.outputFlags(), example{"--routes-out", flags.routesOut}) {
		why, other := lacks[o[0]]
		if !other {
			why = s.NoWork()
		}
		if o[1] != "" && why != "" {
			return usagef("%s: %s: %s", o[0], s.Name, why)
		}
	}
	return nil
}

// outputs are the files that flags ask a run for. All are opened before the run begins, and written before its
// directory is put in place, since they may lie in it.
type outputs struct {
	trace, plan *outputFile           // may be nil
	routes      map[string]routeFiles // by router
	createdDirs result.Made           // for routes
	workloads   []workloadFile        // of what is simulated
	rankTraces  *trace.Job            // the same, for the files of all ranks
	create      func(path string) (*outputFile, error)
}

type routeFiles struct{ tables, tags *outputFile }

// open opens the outputs of the run of s, which was read from file with the overrides and goes to dir. On failure what
// is open is to be aborted, too.
func (o *outputs) open(s *scenarios.Scenario, file string, overrides []string, dir *result.Dir, flags runFlags) error {
	if len(flags.outputFlags()) == 0 && flags.routesOut == "" {
		return nil
	}
	read, taken := scenarios.Inputs(file, overrides), map[string]bool{}
	place := func(path string) (string, error) {
		place, err := dir.Place(path)
		if err == nil && taken[place] {
			err = &result.PlaceError{Path: path, Why: "is asked for twice; give each output its own place"}
		}
		taken[place] = true
		return place, err
	}
	create := func(path string) (*outputFile, error) {
		at, err := place(path)
		if err == nil && at != path { // in the run's directory, which is new
			err = os.MkdirAll(filepath.Dir(at), 0o777)
		}
		if err != nil {
			return nil, err
		}
		return createOutputFile(path, at, read)
	}
	o.create = create
	for _, w := range flags.outputFlags() {
		f, err := create(w[1])
		if err != nil {
			return err
		}
		switch w[0] {
		case "--trace":
			o.trace = f
		case "--plan-out":
			o.plan = f
		default:
			o.workloads = append(o.workloads, workloadFile{w[0], f})
		}
	}
	if flags.routesOut == "" {
		return nil
	}
	at, err := place(flags.routesOut)
	if err != nil {
		return err
	}
	if o.createdDirs, err = result.MakeAll(at); err != nil {
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

// abort leaves nothing behind of what is not written.
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

// write writes what was asked for. A failure of one does not keep the others from being written.
func (o *outputs) write(c *command, out *scenarios.Outcome) error {
	failed := o.commitWorkloads()
	write := func(f *outputFile, fill func(io.Writer) error) {
		if f != nil {
			if err := f.write(fill); err != nil {
				failed = append(failed, err)
			}
		}
	}
	name := out.Document.Scenario
	for i := range out.Detail.Policies {
		if l := out.Detail.Policies[i].Timeline; o.trace != nil && l != nil && l.LeftOut != "" {
			c.logf("%s: %s leaves out: %s", name, o.trace.path, l.LeftOut)
		}
	}
	write(o.trace, func(w io.Writer) error { return result.WriteTrace(w, &out.Document, &out.Detail) })
	if o.plan != nil && len(out.Plans)+len(out.Schedules) == 0 {
		if out.Planned {
			c.logf("no planner of %s wrote a plan out, so %s has none: fluid schedules have no plan", name, o.plan.path)
		} else {
			c.logf("no policy of %s came to schedule rates, so %s has no rows", name, o.plan.path)
		}
	}
	write(o.plan, func(w io.Writer) error {
		if out.Planned {
			return out.WriteSchedules(w)
		}
		return writePlans(w, &out.Document, out.Plans)
	})
	for i := range out.Routes {
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
	o.abort() // files of routers that have no routes
	return joinErrors(failed...)
}

// checkOutputDirs fails with a *result.PlaceError if a directory that policies write to while they decide cannot be written, or
// lies in the run's own, which may be nil. It makes none.
func checkOutputDirs(dirs scenarios.OutputDirs, run *result.Dir) error {
	for _, d := range []string{dirs.Models, dirs.Routes} {
		switch {
		case d == "":
			continue
		case run != nil && run.Holds(d):
			return &result.PlaceError{Path: d, Why: "lies in the run's own directory, which is put in place when the run ends; choose another directory"}
		}
		if err := result.Probe(d); err != nil {
			return result.Unwritable(d, err)
		}
	}
	return nil
}

// writePlans writes rate schedules as CSV: task, from_s, to_s, rate_bits_per_s. With the schedules of several policies,
// in the order of the document's rows, the policy comes first.
func writePlans(w io.Writer, doc *result.Document, plans map[string][]scenarios.PlanRow) error {
	out := csv.NewWriter(w)
	var policy []string // the first column, when there is one
	if len(plans) > 1 {
		policy = []string{"policy"}
	}
	out.Write(append(policy, "task", "from_s", "to_s", "rate_bits_per_s"))
	for _, r := range doc.Rows {
		if len(plans) > 1 {
			policy = []string{r.Policy}
		}
		for _, p := range plans[r.Policy] {
			out.Write(csvfield.Safe(append(policy[:len(policy):len(policy)], p.Task, text.Exact(p.FromS), text.Exact(p.ToS), text.Exact(p.Rate))...))
		}
	}
	out.Flush()
	return out.Error()
}
