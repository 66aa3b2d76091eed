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

// Diagnostic is one thing that is wrong with an input, Diagnostics all of them: the error that an unusable input
// causes.
type (
	Diagnostic  = schema.Diagnostic
	Diagnostics = schema.Diagnostics
)

// ErrInput is wrapped by every error about invalid input.
var ErrInput = schema.ErrInput

// checker converts a decoded TOML file to a scenario and collects diagnostics.
type checker struct {
	*schema.Reader
	s             *Scenario
	isCell        bool              // the scenario is one cell of a sweep, whose other cells run anyway
	deferredCheck *func()           // for an outermost tier: receives the check of the work, to run after the inner tiers are checked
	job           *jobKeys          // source of Root, if the scenario is one of several jobs
	inputFiles    []string          // files that keys name
	trace         traceFiles        // files of a trace workload
	aliases       map[string]string // path in the file, indexed by the path of a key that was renamed or replaced
}

// newChecker returns what checks the keys of a file on top of others. Files that keys name are read from f.
func newChecker(name string, root map[string]any, layers []schema.Layer, f *fileSet) *checker {
	c := &checker{s: &Scenario{Name: name, files: f}, Reader: schema.NewReader(root, layers)}
	c.Reader.FilePath = c.keyPathInFile
	c.Reader.OtherKind = c.s.rejectForeignKey
	c.Reader.Kind = c.kindName
	return c
}

// resolve checks Root and fills a scenario from it.
func (c *checker) resolve() {
	c.dropEmptyOutputKeys()
	c.matrixAlias()
	c.ringAlias()
	var found []*form
	for _, section := range sections {
		if k := c.sectionForm(section); k != nil {
			found = append(found, k)
		}
	}
	complete := len(found) == len(sections)
	c.normaliseAlgorithms()
	c.peekPolicies()
	c.peekTrace()
	if c.peekTopology(); complete {
		found[0], found[1] = workloadForm(c.s), fabricForm(c.s)
	}
	c.s.Fabric.KindName = c.s.Fabric.Kind
	c.normaliseMappings()
	c.redirectPolicies(c.s.decision().policyKey)
	c.Schema = formSchema(c.s, false, found...)
	c.Read(complete)
	c.checkName()
	if complete && c.OK("workload.kind") && !c.s.canSimulate(found[0]) {
		refuses := cmp.Or(found[1].unsupportedFormat, "%s; set workload.kind = "+schema.QuotedList(kindsWhere("workload", func(k *kind) bool { return k.supports(found[1].carrier) })))
		if needs := found[0].requirement(c.s); needs != "" {
			refuses = strings.Replace(refuses, "%s;", "%s, which needs "+needs+";", 1)
		}
		c.rejectf("workload.kind", "fabric %s does not simulate "+refuses, schema.Quote(c.s.Fabric.Kind), schema.Quote(c.s.Workload.Kind))
	}
	for _, k := range found {
		if k.prepare != nil {
			k.prepare(c)
		}
	}
	c.readMappings()
	c.ApplyDefaults()
	if !complete {
		return
	}
	c.checkMappings()
	for _, k := range found {
		if k.check != nil {
			k.check(c)
		}
	}
}

// sectionForm returns the kind of a section. If it is missing or misspelt, kind reports that and returns the only or nearest
// kind, so that further errors are found.
func (c *checker) sectionForm(section string) *form {
	head := schema.Part{Path: section, Specs: []any{&c.s.Workload.WorkloadKind}}
	if section == "fabric" {
		head.Specs[0] = &c.s.Fabric.FabricKind
	}
	t := schema.New(&schema.Names{Choices: choices()}, head).Tables[0]
	assume := func(name string) *form {
		if k := findKind(section, name); k != nil {
			t.Keys[0].Set(0, name)
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
	v, given := schema.Child(c.Root, section)["kind"]
	if !given {
		c.rejectf(path, "is missing; write kind = %s", schema.QuotedList(allowed))
		return assume(c.likelyKind(section))
	}
	c.MarkGiven(path)
	if w := t.Keys[0].Set(0, v); w != nil {
		c.rejectf(path, "%s; %s", w.Problem, w.Remedy)
		name, _ := v.(string)
		return assume(text.Nearest(name, allowed))
	}
	return assume(v.(string))
}

// likelyKind returns the kind that has most of the keys that the file gives in a section, the first of several.
func (c *checker) likelyKind(section string) string {
	bestKind, bestCount := "", -1
	for _, k := range allForms() {
		if k.section != section {
			continue
		}
		s := &Scenario{}
		table := formSchema(s, false, k).Table(section)
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

// kindName returns the kind of a section, "" of other tables.
func (c *checker) kindName(path string) string {
	switch path {
	case "workload":
		return c.s.Workload.Kind
	case "fabric":
		return c.s.Fabric.Kind
	}
	return ""
}

// checkName holds that the name can be a directory's.
func (c *checker) checkName() {
	if n := c.s.Name; n == "" || n[0] == '.' || strings.ContainsAny(n, `/\`) {
		c.rejectf("name", "%s names no directory; write a short name without slashes that does not start with a dot", schema.Quote(n))
	}
}

// Clash notes that the keys at paths do not go together. It names the first that is given by an override, else the
// first that is given: rather by the job that is at fault than for all jobs.
func (c *checker) Clash(paths []string, problem, remedy string) {
	overridden := func(path string) bool { return c.Given(path) && c.Overridden(path) }
	if jobKey := c.job.firstSet(paths); jobKey != "" && !slices.ContainsFunc(paths, overridden) {
		paths = []string{jobKey}
	}
	c.Reader.Clash(paths, problem, remedy)
}

// conflictf is Clash of the keys that a text names, with spaces between, and what is wrong and would be right as the
// diagnostic says it: "PROBLEM; REMEDY", a format of the arguments.
func (c *checker) conflictf(keys, format string, args ...any) {
	problem, remedy := formatProblem(format, args)
	c.Clash(strings.Fields(keys), problem, remedy)
}

// blame notes that the keys that a text names are at fault for an error of traffic, and reports whether there is one.
func (c *checker) blame(keys string, err error) bool {
	return assembly.ReportConflict(c, strings.Fields(keys), err)
}

// conflictIf is clash where something is so.
func (c *checker) conflictIf(condition bool, keys, format string, args ...any) {
	if condition {
		c.conflictf(keys, format, args...)
	}
}

// rejectf is Refuse worded as clash.
func (c *checker) rejectf(path, format string, args ...any) {
	problem, remedy := formatProblem(format, args)
	c.Reject(path, problem, remedy)
}

func formatProblem(format string, args []any) (problem, remedy string) {
	problem, remedy, _ = strings.Cut(format, "; ")
	n := strings.Count(problem, "%") - 2*strings.Count(problem, "%%")
	return fmt.Sprintf(problem, args[:n]...), fmt.Sprintf(remedy, args[n:]...)
}

// keyPathInFile returns the path in the file of a key that the checker knows by another.
func (c *checker) keyPathInFile(path string) string {
	if writtenPath, ok := c.aliases[path]; ok {
		path = writtenPath
	}
	return c.job.pathInFile(path)
}
