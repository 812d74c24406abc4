package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sessionfold/cmd/folder/internal/config"
)

// configFlags are --config and one flag for every configurable value.
type configFlags struct {
	file string
	text map[string]*string // path → text
	set  *pflag.FlagSet
}

func addConfigFlags(cmd *cobra.Command) *configFlags {
	f := &configFlags{text: map[string]*string{}, set: cmd.Flags()}
	f.set.StringVarP(&f.file, "config", "c", "", "configuration file, YAML (FOLDER_CONFIG)")
	for _, field := range config.Fields() {
		p := new(string)
		f.text[field.Path] = p
		f.set.StringVar(p, field.Path, "", field.Doc)
		flag := f.set.Lookup(field.Path)
		flag.DefValue = field.Default
		if field.Type == "bool" {
			flag.NoOptDefVal = "true" // --http.insecure_no_auth alone turns it on
		}
	}
	return f
}

// hide leaves the flags of the configuration out of a command's help, but for
// some: they work all the same, and docs/configuration.md has them.
func (f *configFlags) hide(but ...string) {
	for _, field := range config.Fields() {
		if !slices.Contains(but, field.Path) {
			_ = f.set.MarkHidden(field.Path)
		}
	}
}

func (f *configFlags) input(c *cli) config.Input {
	in := config.Input{File: f.file, Env: c.env, Flags: map[string]string{}}
	if in.File == "" {
		in.File = c.getenv("FOLDER_CONFIG")
	}
	for path, text := range f.text {
		if f.set.Changed(path) {
			in.Flags[path] = *text
		}
	}
	return in
}

func configCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check, show and document the configuration",
		Args:  args(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	validate := &cobra.Command{
		Use:   "validate",
		Short: "Check the configuration and list everything that is wrong with it",
		Args:  args(cobra.NoArgs),
	}
	online := validate.Flags().Bool("online", false, "also ask the brokers, as folder topics check does")
	vf := addConfigFlags(validate)
	validate.RunE = func(cmd *cobra.Command, _ []string) error {
		l, err := config.Load(vf.input(c))
		if err != nil {
			return err
		}
		c.warn(l)
		fmt.Fprintf(c.out, "configuration is valid: %d streams, group %s\n", len(l.Streams), l.Kafka.Group)
		if *online {
			return c.online(cmd.Context(), l, time.Minute)
		}
		return nil
	}
	printed := &cobra.Command{
		Use:   "print",
		Short: "Print the effective configuration as YAML, with where each value came from",
		Args:  args(cobra.NoArgs),
	}
	pf := addConfigFlags(printed)
	printed.RunE = func(*cobra.Command, []string) error {
		l, err := config.Read(pf.input(c))
		if err != nil {
			return err
		}
		c.warn(l)
		_, err = fmt.Fprint(c.out, l.YAML())
		return err
	}
	docs := &cobra.Command{
		Use:   "docs",
		Short: "Print the table of all configuration as Markdown",
		Args:  args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(c.out, config.Docs())
			return err
		},
	}
	cmd.AddCommand(validate, printed, docs)
	return cmd
}

func (c *cli) warn(l *config.Loaded) {
	for _, w := range l.Warnings {
		fmt.Fprintln(c.err, "warning:", w)
	}
}
