// This file checks the arguments of a command line, and puts flags before positional
// arguments.

package cli

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"sim/internal/text"
)

// flagsFirst checks the name of the command and its flags, and returns args with all flags
// before the positional arguments.
//
// The library urfave/cli stops parsing flags at the first positional argument, but people also
// write flags after it. Checking here also gives all errors of the command line the same form.
func flagsFirst(app *cli.App, args []string) ([]string, error) {
	if len(args) < 2 {
		return args, nil
	}
	// The first argument names the command. Help and version have several forms.
	name, rest := args[1], args[2:]
	switch name {
	case "--version", "-v":
		return []string{args[0], "version"}, nil
	case "help", "h", "-h", "--help":
		if len(rest) > 0 && findCommand(app, rest[0]) == nil {
			return nil, unknownCommand(app, rest[0])
		}
		return args, nil
	}
	if strings.HasPrefix(name, "-") {
		return nil, usagef("flag %s stands before the command; write: sim COMMAND %s", name, name)
	}
	// Separate the flags from the positional arguments, unless the command parses its words
	// itself.
	cmd := findCommand(app, name)
	switch {
	case cmd == nil:
		return nil, unknownCommand(app, name)
	case cmd.SkipFlagParsing:
		return args, nil
	}
	flags, positional, err := splitArgs(cmd, rest)
	if err != nil {
		return nil, err
	}

	// The flags precede "--", and positional arguments follow it.
	out := append([]string{args[0], name}, flags...)
	if len(positional) > 0 {
		out = append(append(out, "--"), positional...)
	}
	return out, nil
}

// splitArgs separates the arguments of cmd into flags with their values and positional
// arguments. Each returned flag has the form --name=value, or --name without a value. After
// "--", all arguments are positional. With --help, it returns only that flag.
func splitArgs(cmd *cli.Command, args []string) (flags, positional []string, err error) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return flags, append(positional, args[i+1:]...), nil
		}
		// A single dash is a positional argument: standard output.
		if len(arg) < 2 || arg[0] != '-' {
			positional = append(positional, arg)
			continue
		}
		// A flag has its value after "=", or in the next argument. A short flag may be joined
		// with its value.
		name, value, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		f := findFlag(cmd, name)

		// A short flag with its value, such as -j4.
		if f == nil && name != "" && !strings.HasPrefix(arg, "--") && findFlag(cmd, name[:1]) != nil {
			name, value, joined = name[:1], arg[2:], true
			f = findFlag(cmd, name)
		}
		if name == "help" || name == "h" {
			return []string{"--help"}, nil, nil
		}
		if f == nil {
			return nil, nil, unknownFlag(cmd, arg)
		}
		shown := withDashes(name)
		// A flag without a value may still have one after "=": true or false.
		if _, ok := f.(*cli.BoolFlag); ok {
			if joined {
				if _, err := strconv.ParseBool(value); err != nil {
					return nil, nil, usagef("flag %s takes no value, but was given %q", shown, value)
				}
				shown += "=" + value
			}
			flags = append(flags, shown)
			continue
		}
		// Other flags need a value. The next argument is no value if it is a flag itself.
		if !joined {
			if i+1 == len(args) || isFlag(cmd, args[i+1]) {
				return nil, nil, usagef("flag %s needs a value", shown)
			}
			i++
			value = args[i]
		}
		if err := validateValue(f, shown, value); err != nil {
			return nil, nil, err
		}
		flags = append(flags, shown+"="+value)
	}
	return flags, positional, nil
}

// validateValue returns an error if the value of a flag is empty, or if a numeric flag has no
// valid number. Integer flags are counts and must be at least 1.
func validateValue(f cli.Flag, shown, value string) error {
	if value == "" {
		return usagef("flag %s needs a value", shown)
	}
	var err error
	switch f.(type) {
	case *cli.IntFlag: // a count
		n, e := strconv.Atoi(value)
		if err = e; e == nil && n < 1 {
			return usagef("flag %s needs at least 1, not %d", shown, n)
		}
	case *cli.Uint64Flag:
		_, err = strconv.ParseUint(value, 10, 64)
	}
	if err != nil {
		return usagef("flag %s needs a whole number, not %q", shown, value)
	}
	return nil
}

// findCommand returns the command with a name or alias, or nil.
func findCommand(app *cli.App, name string) *cli.Command {
	for _, c := range app.Commands {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

// findFlag returns the flag of cmd with a name or alias, or nil.
func findFlag(cmd *cli.Command, name string) cli.Flag {
	for _, f := range cmd.Flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

// isFlag reports whether arg is a flag of cmd, with or without a value. Other arguments that
// begin with a dash, such as negative numbers, are values.
func isFlag(cmd *cli.Command, arg string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return strings.HasPrefix(arg, "-") && findFlag(cmd, name) != nil
}

// withDashes returns the name of a flag as people write it: -j or --name.
func withDashes(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// unknownCommand returns the error for a command that does not exist, with the most similar
// name.
func unknownCommand(app *cli.App, name string) error {
	var names []string
	for _, c := range app.Commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return usagef("there is no command %q%s", name, text.DidYouMean(name, names, "sim help lists them"))
}

// unknownFlag returns the error for a flag that cmd does not have, with the most similar flag.
// arg is the flag as given, with dashes and perhaps a value.
func unknownFlag(cmd *cli.Command, arg string) error {
	arg, _, _ = strings.Cut(arg, "=")
	var names []string
	for _, f := range cmd.Flags {
		for _, n := range f.Names() {
			names = append(names, withDashes(n))
		}
	}
	return usagef("sim %s has no flag %s%s", cmd.Name, arg, text.DidYouMean(arg, names, "sim help "+cmd.Name+" lists them"))
}
