// This file loads scenarios from files, from memory, or from the scenarios that are built
// into the program. Load and Parse decode a file, merge its bases (key base), apply the
// overrides of --set, and check all keys.

package scenarios

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"sim/internal/text"
	"sim/scenarios/schema"
)

// embedded holds the built-in scenarios and studies, and the files that they name.
//
//go:embed *.toml compose/*.toml compose/*.txt fleets/*.toml paper/*.toml tori/*.toml scaleup/*.toml
var embedded embed.FS

// EmbeddedScenarios returns the names of the built-in scenarios, such as
// "scenarios/deepseek671b.toml", in order.
func EmbeddedScenarios() []string { return slices.Clone(embeddedFiles().scenarios) }

// EmbeddedStudies returns the names of the built-in studies, such as
// "scenarios/paper/delta-fig6.toml", in order.
func EmbeddedStudies() []string { return slices.Clone(embeddedFiles().studies) }

// embeddedLists holds the names of the built-in files, directory by directory.
type embeddedLists struct{ scenarios, studies []string }

// embeddedFiles returns the names of the built-in scenarios and studies. It reads the files
// once, because their content determines which are studies.
var embeddedFiles = sync.OnceValue(func() (lists embeddedLists) {
	for _, name := range embeddedNames() {
		if isStudyFile(name, readEmbedded(strings.TrimPrefix(name, "scenarios/"))) {
			lists.studies = append(lists.studies, name)
		} else {
			lists.scenarios = append(lists.scenarios, name)
		}
	}
	return lists
})

// embeddedNames returns the names of all built-in files without reading any of them.
func embeddedNames() (names []string) {
	patterns := []string{
		"*.toml", "compose/*.toml", "fleets/*.toml", "paper/*.toml", "tori/*.toml", "scaleup/*.toml",
	}
	for _, pattern := range patterns {
		files, err := fs.Glob(embedded, pattern)
		if err != nil {
			panic(err) // the patterns are well formed
		}
		for _, file := range files {
			names = append(names, path.Join("scenarios", file))
		}
	}
	return names
}

// maxSummaryBytes is the maximum length of a summary. sim list then shows it in one line.
const maxSummaryBytes = 90

// Summary describes a built-in scenario or study in one line. It returns the first sentence
// of the comment at the top of the file if that is longer than the title and has at most
// maxSummaryBytes bytes, else the title.
func Summary(name string) string {
	data := readEmbedded(strings.TrimPrefix(name, "scenarios/"))
	title := ""
	if src, faults := decodeFile(name, data); faults == nil {
		title, _ = src.root["title"].(string)
	}

	// Collect the words of the comment until its first sentence ends. A full stop inside
	// parentheses does not end it.
	comment := ""
	for line := range strings.Lines(string(data)) {
		text, ok := strings.CutPrefix(line, "#")
		if !ok {
			break
		}
		for word := range strings.FieldsSeq(text) {
			comment += " " + word
			endsSentence := strings.ContainsAny(word[len(word)-1:], ".:;?")
			isBalanced := strings.Count(comment, "(") == strings.Count(comment, ")")
			if !endsSentence || !isBalanced {
				continue
			}

			comment = strings.Trim(comment, " .:;")
			if len(comment) <= maxSummaryBytes && len(comment) > len(title) {
				return comment
			}
			return title
		}
	}
	return title
}

// readEmbedded returns the content of a built-in file, named without "scenarios/".
func readEmbedded(file string) []byte {
	data, err := embedded.ReadFile(file)
	if err != nil {
		panic(err) // it was listed
	}
	return data
}

// Load reads the scenario file at path. If there is no such file and path names a built-in
// scenario ("scenarios/gpt7b.toml", "gpt7b.toml" or "gpt7b"), it reads the built-in one.
// Overrides have the form "key=value", where value is TOML or plain text; a replica's key
// is "replica.INDEX.key". Every error is of type Diagnostics and holds all faults of the
// input.
func Load(path string, overrides []string) (*Scenario, error) {
	name, data, fault := openFile(path)
	if fault != nil {
		return nil, Diagnostics{*fault}
	}
	return Parse(name, data, overrides)
}

// openFile reads a scenario file from disk, or a built-in one if there is no such file.
func openFile(file string) (name string, data []byte, fault *Diagnostic) {
	var disk *fileSet // a nil set is the disk
	return disk.open(file)
}

// open reads a scenario file of the set, or a built-in one if the set has no such file. name
// is the path of the file that was read. On failure fault holds the reason.
func (f *fileSet) open(file string) (name string, data []byte, fault *Diagnostic) {
	// A set in memory fails only if it does not contain the file.
	if !f.readsDisk() {
		if data, err := f.read(file, schema.MaxFileBytes); err == nil {
			return file, data, nil
		}
		return openEmbedded(file)
	}

	// A file takes precedence over a built-in scenario, but a directory does not.
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return openEmbedded(file)
	case err == nil && info.IsDir():
		// A run may lie in a directory with the name of a built-in scenario.
		if name, data, fault := openEmbedded(file); fault == nil {
			return name, data, nil
		}
		return "", nil, &Diagnostic{
			File:    file,
			Problem: "is a directory",
			Remedy:  "name a scenario file in it",
		}
	case err == nil:
		data, err = f.read(file, schema.MaxFileBytes)
	}

	if err != nil {
		// The diagnostic has the path already, so it omits the path of the error.
		var pathError *fs.PathError
		if errors.As(err, &pathError) {
			err = pathError.Err
		}
		return "", nil, &Diagnostic{
			File:    file,
			Problem: "cannot be read: " + err.Error(),
			Remedy:  "name a readable file",
		}
	}
	return file, data, nil
}

// openEmbedded finds a built-in file by its path, with or without its directory and
// ".toml".
func openEmbedded(file string) (name string, data []byte, fault *Diagnostic) {
	// The directory and the extension may be missing.
	wanted := path.Clean(filepath.ToSlash(file))
	if path.Ext(wanted) != ".toml" {
		wanted += ".toml"
	}
	for _, name := range embeddedNames() {
		inside := strings.TrimPrefix(name, "scenarios/")
		if wanted == name || wanted == inside || wanted == path.Base(name) {
			return name, readEmbedded(inside), nil
		}
	}

	// Suggest a similar name in the diagnostic.
	var known []string
	for _, name := range append(EmbeddedScenarios(), EmbeddedStudies()...) {
		known = append(known, strings.TrimSuffix(path.Base(name), ".toml"))
	}
	hint := text.DidYouMean(
		strings.TrimSuffix(path.Base(wanted), ".toml"), known,
		"name a file, or what sim list scenarios or sim list studies names",
	)
	hint = strings.TrimPrefix(hint, "; ")
	return "", nil, &Diagnostic{File: file, Problem: "no such file", Remedy: hint}
}

// Parse reads a scenario from data. name stands for the file in diagnostics and gives the
// scenario its default name. Overrides and errors are as in Load.
func Parse(name string, data []byte, overrides []string) (*Scenario, error) {
	c, faults := parse(name, data, overrides, &fileSet{})
	if faults != nil {
		return nil, faults
	}
	return c.finish()
}

// noOverrides is the argument of parse for scenarios that are read as they are.
var noOverrides []string

// parse is the first half of Parse, without the check of the keys. It decodes the file,
// merges the files that it is based on, and applies the overrides. Other files are read
// from f. The checker that it returns completes the second half in finish.
func parse(name string, data []byte, overrides []string, f *fileSet) (*checker, Diagnostics) {
	src, faults := decodeFile(name, data)
	if faults != nil {
		return nil, faults
	}

	src.files = f

	// An override of the base must be applied before files are merged, all other overrides
	// afterwards.
	for _, o := range overrides {
		if key, raw, ok := strings.Cut(o, "="); ok && strings.TrimSpace(key) == baseKey {
			src.root[baseKey], src.baseOverridden = schema.DecodeValue(strings.TrimSpace(raw)), true
		}
	}

	faults = src.inherit(topLevel)

	// A file that describes a study is not a scenario.
	for _, table := range []string{"sweep", "plot"} {
		if _, given := src.root[table]; given {
			faults = append(faults, Diagnostic{
				File:    name,
				Line:    src.layers[0].Line(table),
				Key:     table,
				Problem: "makes this a study of many runs",
				Remedy:  "sim sweep runs it; for one run leave it out",
			})
		}
	}

	if faults != nil {
		return nil, faults
	}

	c := newChecker(defaultName(name), src.root, src.layers, f)
	c.s.Deprecated = src.deprecated
	for _, o := range overrides {
		if key, _, _ := strings.Cut(o, "="); strings.TrimSpace(key) != baseKey {
			c.override(o)
		}
	}
	return c, nil
}

// finish checks all keys and returns the scenario, or Diagnostics. Jobs and tiers are
// resolved as scenarios of their own.
func (c *checker) finish() (*Scenario, error) {
	c.rejectOtherTableNames()
	switch {
	case c.describesJobs():
		c.resolveJobs()
	case c.hasTiers():
		c.resolveTiers()
	default:
		// These checks need valid keys. resolveJobs and resolveTiers make them for each job,
		// and for the workload on the outermost tier.
		if c.resolve(); len(c.Diagnostics) == 0 {
			checkReplicaMode(c)
			checkDuration(c)
		}
	}

	if len(c.Diagnostics) > 0 {
		return nil, c.Diagnostics.Sorted()
	}
	return c.s, nil
}

// defaultName returns the default name of a scenario: the name of its file without .toml,
// changed so that it can be the name of a directory.
func defaultName(file string) string {
	name := strings.TrimSuffix(path.Base(filepath.ToSlash(file)), ".toml")

	// Replace characters that a directory cannot have.
	name = strings.Map(func(r rune) rune {
		if schema.IsControl(r) || strings.ContainsRune(`/\`, r) {
			return '-'
		}

		return r
	}, strings.ToValidUTF8(name, "-"))
	name = strings.TrimLeft(name, ".") // no hidden directory, and not ".."
	if len(name) > schema.MaxText {
		name = strings.ToValidUTF8(name[:schema.MaxText], "")
	}
	if name == "" {
		return "scenario"
	}
	return name
}
