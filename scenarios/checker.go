// This file defines the checker, which turns the decoded keys of a file into a Scenario,
// and its methods to report faults: rejectf for an invalid value, conflictf and
// conflictIf for keys that exclude each other. A diagnostic consists of a problem and a
// remedy.

package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sim/internal/text"
	"sim/scenarios/assembly"
	"sim/scenarios/schema"
)

// Diagnostic is one fault of the input. Diagnostics lists all of them; it is the error of a
// scenario that cannot be used.
type (
	Diagnostic  = schema.Diagnostic
	Diagnostics = schema.Diagnostics
)

// ErrInput is wrapped by every error about invalid input.
var ErrInput = schema.ErrInput

// checker converts a decoded TOML file to a Scenario and collects diagnostics. The embedded
// Reader reads single keys. The methods and functions of this package then check keys
// against each other; a check is skipped if a key that it depends on is invalid
// (Reader.OK).
type checker struct {
	*schema.Reader
	s *Scenario // the scenario being filled
	// isCell means that the scenario is one cell of a sweep. Other cells run even if the
	// policies of this one cannot serve it.
	isCell bool
	// deferredCheck is set for an outermost tier. checkLinks stores the check of the work
	// there, and resolveTiers runs it after the inner tiers are checked.
	deferredCheck *func()
	job           *jobKeys   // location of the keys of one job among several; nil otherwise
	inputFiles    []string   // names of the files that keys name
	trace         traceFiles // files of a trace workload
	names         renames    // deprecated keys of overrides and studies
	// aliases maps the path of a key that was renamed or replaced to its path in the file.
	aliases map[string]string
}

// newChecker returns a checker of the decoded keys root. layers are the files that they
// come from. Files that keys name are read from f.
func newChecker(name string, root map[string]any, layers []schema.Layer, f *fileSet) *checker {
	c := &checker{s: &Scenario{Name: name, files: f}, Reader: schema.NewReader(root, layers)}
	c.names = renames{deprecated: &c.s.Deprecated, conflicts: &c.Diagnostics}
	c.Reader.FilePath = c.keyPathInFile
	c.Reader.OtherKind = c.s.rejectForeignKey
	c.Reader.Kind = c.kindName
	c.Reader.FormKeys = formKeys()
	return c
}

// resolve checks Root and fills the scenario from it, in this order: replace aliases,
// determine the forms of workload and fabric, read all keys, run the forms' prepare
// functions, apply defaults, and run the forms' check functions.
func (c *checker) resolve() {
	c.dropEmptyOutputKeys()
	c.applyMatrixAlias()
	c.ringAlias()

	// Both forms are needed to select the conditional ones and to check keys against each
	// other. Without them, resolve only reports faults of single keys.
	var found []*form
	for _, section := range sections {
		if k := c.sectionForm(section); k != nil {
			found = append(found, k)
		}
	}

	complete := len(found) == len(sections)

	// The form of a kind may depend on keys of decision, trace and topology, which are not
	// read yet. Look them up, and select the forms again. A default may depend on keys that the
	// file has.
	const redirected = true
	all := c.listAllPolicies(!redirected)
	c.normaliseAlgorithms()
	c.peekPolicies()
	c.peekTrace()
	c.peekTopology()
	c.peekSpine()
	c.peekLevel()
	if complete {
		found[0], found[1] = workloadForm(c.s), fabricForm(c.s) // in the order of sections
	}

	// Read all keys into the scenario.
	c.s.Fabric.KindName = c.s.Fabric.Kind
	c.normaliseMappings()
	c.redirectPolicies(c.s.decision().policyKey)
	c.leaveOutPolicies(append(all, c.listAllPolicies(redirected)...))
	c.Schema = formSchema(c.s, forOneJob, found...)
	c.Read(complete)
	c.checkName()
	c.readMachine()

	// Report a workload that the fabric does not simulate, with the workloads that it does.
	// The text after "; " is the remedy.
	if complete && c.OK("workload.kind") && !c.s.canSimulate(found[0]) {
		refuses := cmp.Or(
			found[1].unsupportedFormat,
			"%s; set workload.kind = "+schema.QuotedList(
				kindsWhere("workload", func(k *kind) bool { return k.supports(found[1].carrier) }),
			),
		)
		if needs := found[0].requirement(c.s); needs != "" {
			refuses = strings.Replace(refuses, "%s;", "%s, which needs "+needs+";", 1)
		}
		c.rejectf("workload.kind", "fabric %s does not simulate "+refuses, schema.Quote(c.s.Fabric.Kind),
			schema.Quote(c.s.Workload.Kind))
	}

	// Derive values from files, apply defaults, and check keys against each other.
	for _, k := range found {
		if k.prepare != nil {
			k.prepare(c)
		}
	}

	c.readMappings()
	c.ApplyDefaults()
	c.s.setCallMachine()
	if !complete {
		return
	}

	for _, k := range found {
		if k.expand != nil {
			k.expand(c)
		}
	}
	c.checkMappings()
	for _, k := range found {
		if k.check != nil {
			k.check(c)
		}
	}
}

// sectionForm returns the form of the kind that a section ("workload" or "fabric") names. A
// form is a variant of a kind with its keys and checks. If the kind is missing or
// misspelt, it reports that and returns the only or nearest kind, so that further errors
// are found.
func (c *checker) sectionForm(section string) *form {
	// t holds only the key kind of the section.
	head := schema.Part{Path: section, Specs: []any{&c.s.Workload.WorkloadKind}}
	if section == "fabric" {
		head.Specs[0] = &c.s.Fabric.FabricKind
	}
	t := schema.New(&schema.Names{Choices: choices()}, head).Tables[0]

	// assume sets the kind as if the file named it, and returns its first form.
	assume := func(name string) *form {
		if k := findKind(section, name); k != nil {
			t.Keys[0].Set(onlyElement, name)
			return k.forms[0]
		}
		return nil
	}
	path := section + ".kind"
	allowed := choiceNames(section + "s")
	if v, given := c.Root[section]; given && schema.Child(c.Root, section) == nil {
		c.rejectf(section, "is %s; write it as a table: [%s]", schema.Describe(v), section)
		return assume(c.likelyKind(section))
	}

	// The kind is missing, unknown or valid.
	v, given := schema.Child(c.Root, section)["kind"]
	if !given {
		c.rejectf(path, "is missing; write kind = %s", schema.QuotedList(allowed))
		return assume(c.likelyKind(section))
	}

	c.MarkGiven(path)
	if w := t.Keys[0].Set(onlyElement, v); w != nil {
		name, _ := v.(string)
		for _, k := range kinds() {
			if k.section != section || k.remedy == nil {
				continue
			}
			if remedy := k.remedy(c, name); remedy != "" {
				c.rejectf(path, "%s; %s", w.Problem, remedy)
				return assume(k.name)
			}
		}
		c.rejectf(path, "%s; %s", w.Problem, w.Remedy)
		return assume(text.Nearest(name, allowed))
	}
	return assume(v.(string))
}

// onlyElement is the index of a table that is no element of an array of tables, for
// schema.Key.Set.
const onlyElement = 0

// likelyKind returns the kind that shares the largest number of keys with the file's
// section. If several do, it returns the first one.
func (c *checker) likelyKind(section string) string {
	bestKind, bestCount := "", -1

	// Count the keys of the file that each form has.
	for _, k := range allForms() {
		if k.section != section {
			continue
		}
		s := &Scenario{}
		table := formSchema(s, forOneJob, k).Table(section)
		count := 0
		for name := range schema.Child(c.Root, section) {
			if table.Find(name) != nil {
				count++
			}
		}

		if count > bestCount {
			bestKind, bestCount = k.name, count
		}
	}
	return bestKind
}

// kindName returns the kind of a section, or "" for other tables.
func (c *checker) kindName(path string) string {
	switch path {
	case "workload":
		return c.s.Workload.Kind
	case "fabric":
		return c.s.Fabric.Kind
	}
	return ""
}

// checkName rejects a name that cannot be the name of a directory.
func (c *checker) checkName() {
	if n := c.s.Name; n == "" || n[0] == '.' || strings.ContainsAny(n, `/\`) {
		c.rejectf("name",
			"%s names no directory; write a short name without slashes that does not start with a dot",
			schema.Quote(n))
	}
}

// Conflict reports that the keys at paths exclude each other. It names the first one set by an
// override, else the first one given. Of several jobs, a key that the job itself sets takes
// precedence over keys for all jobs.
func (c *checker) Conflict(paths []string, problem, remedy string) {
	// An override takes precedence, whichever job it is for.
	overridden := func(path string) bool { return c.Given(path) && c.Overridden(path) }
	if jobKey := c.job.firstSet(paths); jobKey != "" && !slices.ContainsFunc(paths, overridden) {
		paths = []string{jobKey}
	}
	c.Reader.Conflict(paths, problem, remedy)
}

// conflictf reports a conflict of keys, whose paths are separated by spaces. format is
// "PROBLEM; REMEDY".
func (c *checker) conflictf(keys, format string, args ...any) {
	problem, remedy := formatProblem(format, args)
	c.Conflict(strings.Fields(keys), problem, remedy)
}

// blame reports err, if it is not nil, as a fault of the keys, whose paths are separated by
// spaces. It reports whether there was an error.
func (c *checker) blame(keys string, err error) bool {
	return assembly.ReportConflict(c, strings.Fields(keys), err)
}

// conflictIf calls conflictf if condition holds.
func (c *checker) conflictIf(condition bool, keys, format string, args ...any) {
	if condition {
		c.conflictf(keys, format, args...)
	}
}

// rejectf reports an invalid value of the key at path, with a format as for conflictf. A
// missing key is not reported if its table has another name in the file.
func (c *checker) rejectf(path, format string, args ...any) {
	if strings.HasPrefix(format, "is missing") && !c.OK(path) {
		return
	}
	problem, remedy := formatProblem(format, args)
	c.Reject(path, problem, remedy)
}

// formatProblem splits the format "PROBLEM; REMEDY" and formats both halves. Each half uses
// as many arguments as it has verbs.
func formatProblem(format string, args []any) (problem, remedy string) {
	problem, remedy, _ = strings.Cut(format, "; ")
	n := strings.Count(problem, "%") - 2*strings.Count(problem, "%%")
	return fmt.Sprintf(problem, args[:n]...), fmt.Sprintf(remedy, args[n:]...)
}

// keyPathInFile returns the path in the file of a key that the checker reads at another
// path, because the key was renamed or belongs to one of several jobs.
func (c *checker) keyPathInFile(path string) string {
	if writtenPath, ok := c.aliases[path]; ok {
		path = writtenPath
	}
	return c.job.pathInFile(path)
}
