"""Files of a project that have programs run what no command names: builds, manifests, images and playbooks.

build_files    build files: makefiles and justfiles
builds         programs that build, test or run sources that they are not given by name
containers     files of services and pods, by the rights that they give to containers
given_away     files that give away secrets, a way in, data of cards, or the rows of tables
images         images that are built here and run here
named_files    programs that run files of a project by the names that these have
openings       files of infrastructure that open what they describe to everybody
playbooks      playbooks of Ansible for this machine
project_files  files of a project that name commands which others run
projects       programs that run what a project's own files name
recipes        recipes: commands that files have others run, and those of a `package.json`
trust          changes by which a project no longer checks whom it talks to, what it is sent, or who asks
"""
